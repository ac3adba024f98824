"""KLUE-STS: pairs from the same statement in other words (5) down to statements of different topics (0)."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from hunmin.sample.claim import Claim, drop_modifiers, invent_claim, leaves_open, oppose, reword, synonyms
from hunmin.sample.inflect import Register
from hunmin.sample.lexicon import TOPICS
from hunmin.sample.scene import Scene
from hunmin.sample.tasks.common import TaskFiles, TaskText, as_json, guid, rng_for, task_scene

SIZES = {"train": 900, "dev": 240}
ANNOTATORS = 7
SIMILAR = 3.0
"""From this score on, the binary label is 1."""


def _partner(first: Claim, scene: Scene, split: str, level: int) -> Claim:
    """Return a claim whose likeness to `first` is `level`.

    5: the same in other words; 4: the same without its modifiers; 3: of the same subject, but something else;
    2: something else of which one word is the same; 1: the same topic; 0: another topic.
    """
    rng = scene.rng
    if level == 5:
        return reword(first, rng, wholly=rng.random() < 0.5)
    if level == 4:
        return reword(drop_modifiers(first, rng, keep=0), rng)
    if level == 3:
        if rng.random() < 0.3 or first.kind == "measure":
            return oppose(first, rng) or replace(first, negated=True)
        return replace(first, predicate=_other_predicate(first, scene))
    if level == 2:
        return _one_word_shared(first, scene)
    if level == 1:
        return leaves_open(first, scene, rng.random() < 0.2)
    other = task_scene(rng, split, rng.choice([t for t in TOPICS if t is not first.topic]))
    return invent_claim(other, modifiers=rng.randint(0, 2))


def _other_predicate(first: Claim, scene: Scene) -> str:
    pool = scene.words[{"action": "A", "change": "C", "quality": "Q"}[first.kind]]
    alike = {first.predicate, *synonyms(first.topic, first.predicate)}
    return scene.predicate_for(first.noun, [p for p in pool if p not in alike] or pool)


def _one_word_shared(first: Claim, scene: Scene) -> Claim:
    """Return a claim that has the noun of an action, or the predicate of anything else, in common with `first`."""
    if first.kind == "action":
        subject = scene.say("{P}")
        return replace(first, subject=subject, predicate=_other_predicate(first, scene), when="", where="", how="")
    pool = scene.words[{"change": "I", "measure": "M", "quality": "T"}[first.kind]]
    alike = {first.noun, *synonyms(first.topic, first.noun)}
    others = [n for n in pool if n not in alike and first.topic.suits(n, first.predicate)]
    return replace(first, noun=scene.rng.choice(others), when="", where="")


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
            first = invent_claim(scene, modifiers=rng.randint(1 if level == 4 else 0, 2))
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
