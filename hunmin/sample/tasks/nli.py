"""KLUE-NLI: each premise with one hypothesis that follows, one that it excludes and one that it leaves open.

Negation is as frequent in the hypotheses of every label, and hypotheses share their words with the premise in two
labels of three, so neither the hypothesis alone nor the overlap alone gives the label.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hunmin.sample.claim import Claim, excludes, follows, invent_claim, leaves_open
from hunmin.sample.inflect import Register
from hunmin.sample.tasks.common import TaskFiles, TaskText, as_json, guid, rng_for, task_scene

PREMISES = {"train": 400, "dev": 100}
LABELS = ("entailment", "contradiction", "neutral")
NEGATED_PREMISES = 0.3
NEGATED_HYPOTHESES = 0.4


def build(seed: int) -> TaskFiles:
    """Return the files of KLUE-NLI: three examples a premise, no premise twice."""
    files: dict[str, str] = {}
    texts: list[TaskText] = []
    seen: set[str] = set()
    for split, count in PREMISES.items():
        rng = rng_for(seed, "klue-nli", split)
        records: list[dict[str, Any]] = []
        while len(records) < 3 * count:
            scene = task_scene(rng, split)
            claim = invent_claim(scene, modifiers=rng.choice((1, 2, 2, 3)))
            claim = replace(claim, negated=rng.random() < NEGATED_PREMISES)
            register = rng.choice(list(Register))
            premise = claim.text(register, rng.randint(0, 1)) + "."
            made: list[Claim] = [
                follows(claim, rng, rng.random() < NEGATED_HYPOTHESES),
                excludes(claim, rng, rng.random() < NEGATED_HYPOTHESES),
                leaves_open(claim, scene, rng.random() < NEGATED_HYPOTHESES),
            ]
            hypotheses = [h.text(register, rng.randint(0, 1)) + "." for h in made]
            if premise in seen or len({premise, *hypotheses}) < 4:
                continue
            seen.add(premise)
            for label, hypothesis in zip(LABELS, hypotheses, strict=True):
                name = guid("klue-nli", split, len(records))
                texts.append(TaskText("klue-nli", name, premise))
                texts.append(TaskText("klue-nli", name, hypothesis))
                records.append(
                    {
                        "guid": name,
                        "genre" if split == "train" else "source": claim.topic.name,
                        "premise": premise,
                        "hypothesis": hypothesis,
                        "gold_label": label,
                        "author": label,
                        **{f"label{k}": label for k in range(2, 6)},
                    }
                )
        files[f"klue-nli-v1.1/klue-nli-v1.1_{split}.json"] = as_json(records)
    return TaskFiles(files, texts)
