"""KLUE-STS: pairs from the same statement in other words (5) down to statements of different topics (0)."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from data.sample.claim import Claim, drop_modifiers, invent_claim, leaves_open, oppose, reword
from data.sample.inflect import Register
from data.sample.lexicon import TOPICS
from data.sample.scene import Scene
from data.sample.tasks.common import TaskFiles, TaskText, as_json, guid, rng_for, task_scene

SIZES = {"train": 900, "dev": 240}
ANNOTATORS = 7
SIMILAR = 3.0
"""From this score on, the binary label is 1."""


def _partner(first: Claim, scene: Scene, split: str, level: int) -> Claim:
    """Return a claim whose likeness to `first` is about `level` (0-5)."""
    rng = scene.rng
    if level == 5:
        return reword(first, rng, wholly=rng.random() < 0.5)
    if level == 4:
        return reword(drop_modifiers(first, rng, keep=0.2), rng)
    if level == 3:
        return (
            replace(oppose(first, rng) or first, negated=not first.negated)
            if rng.random() < 0.3
            else _varied(first, scene)
        )
    if level == 2:
        same = _varied(first, scene)
        return replace(same, subject=first.subject and scene.say("{P}"), when="", where="")
    if level == 1:
        return leaves_open(first, scene, rng.random() < 0.2)
    other = task_scene(rng, split, rng.choice([t for t in TOPICS if t is not first.topic]))
    return invent_claim(other, modifiers=rng.randint(0, 2))


def _varied(first: Claim, scene: Scene) -> Claim:
    """Return the claim with another predicate for the same noun."""
    pool = {"action": "A", "change": "C", "quality": "Q"}.get(first.kind)
    if pool is None:
        return replace(first, when="", where=scene.say("{L}"))
    return replace(first, predicate=scene.predicate_for(first.noun, scene.words[pool], first.predicate))


def _labels(level: int, rng: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    ratings = [min(5, max(0, level + rng.choice((0, 0, 0, 0, -1, 1)))) for _ in range(ANNOTATORS)]
    mean = sum(ratings) / ANNOTATORS
    labels = {"label": round(mean, 1), "real-label": mean, "binary-label": int(mean >= SIMILAR)}
    annotations = {
        "agreement": ":".join(str(ratings.count(score)) for score in range(6)),
        "annotators": [f"{k:02d}" for k in range(1, ANNOTATORS + 1)],
        "annotations": ratings,
    }
    return labels, annotations


def build(seed: int) -> TaskFiles:
    """Return the files of KLUE-STS: the levels 0 to 5 in equal numbers, rated by seven invented annotators."""
    files: dict[str, str] = {}
    texts: list[TaskText] = []
    seen: set[tuple[str, str]] = set()
    for split, size in SIZES.items():
        rng = rng_for(seed, "klue-sts", split)
        records: list[dict[str, Any]] = []
        while len(records) < size:
            level = len(records) % 6
            scene = task_scene(rng, split)
            first = invent_claim(scene, modifiers=rng.randint(0, 2))
            second = _partner(first, scene, split, level)
            register = rng.choice(list(Register))
            pair = (
                first.text(register, rng.randint(0, 1)) + ".",
                second.text(rng.choice(list(Register)), rng.randint(0, 1)) + ".",
            )
            if pair in seen or pair[0] == pair[1]:
                continue
            seen.add(pair)
            labels, annotations = _labels(level, rng)
            source = f"{first.topic.name}-{'rtt' if level >= 4 else 'sampled'}"
            records.append({"source": source, "pair": pair, "labels": labels, "annotations": annotations})
        rng.shuffle(records)
        for number, record in enumerate(records):
            name = guid("klue-sts", split, number)
            texts += [TaskText("klue-sts", name, sentence) for sentence in record["pair"]]
            records[number] = {
                "guid": name,
                "source": record["source"],
                "sentence1": record["pair"][0],
                "sentence2": record["pair"][1],
                "labels": record["labels"],
                "annotations": record["annotations"],
            }
        files[f"klue-sts-v1.1/klue-sts-v1.1_{split}.json"] = as_json(records)
    return TaskFiles(files, texts)
