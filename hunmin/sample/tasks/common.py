"""What the task builders share: the split's half of the vocabulary, guids, JSON as the benchmark writes it."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from hunmin.sample.lexicon import LABELLED, TOPICS, Topic
from hunmin.sample.scene import Scene
from klue.synthetic import MARK

OTHER_HALF = 0.1
"""Share of dev examples that use the train half of the vocabulary: the halves overlap a little, as real data do."""


@dataclass(frozen=True)
class TaskText:
    """One sentence of the benchmark, with the example it belongs to."""

    task: str
    guid: str
    text: str


@dataclass(frozen=True)
class TaskFiles:
    """What one task consists of: the files under klue/ by name, and its sentences."""

    files: dict[str, str]
    texts: list[TaskText]


def rng_for(seed: int, *name: str) -> random.Random:
    """Return a generator of its own for a part of the sample, so that parts do not shift each other."""
    return random.Random(f"{seed}/{'/'.join(name)}")


def task_scene(rng: random.Random, split: str, topic: Topic | None = None) -> Scene:
    """Return a scene in the split's half of the vocabulary, with noun-predicate pairs that the corpora lack."""
    half = split if split == "train" or rng.random() >= OTHER_HALF else "train"
    return Scene(rng, topic or rng.choice(TOPICS), half, for_task=True)


def labelled_topic(number: int) -> Topic:
    """Return the YNAT topics in turn."""
    return LABELLED[number % len(LABELLED)]


def as_json(records: Any) -> str:
    """Return records as the benchmark's JSON files are written: UTF-8, four blanks of indent."""
    return json.dumps(records, ensure_ascii=False, indent=4) + "\n"


def guid(task: str, split: str, number: int) -> str:
    """Return a guid as the benchmark forms them, behind the mark of invented data."""
    return f"{MARK}{task}-v1_{split}_{number:05d}"
