"""What a model without fault would score: how much a tokenizer, and the longest input, take away beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UserError
from common.progress import say
from klue.examples import find_file, read_examples
from klue.features import check_reading, load_tokenizer, make_features
from klue.model_folder import ModelFacts, read_model_folder
from klue.tasks import KLUE, get_task, suite_folder
from klue.tasks.base import Example, Features, Outputs, Task
from klue.tasks.klue.ner import IGNORED
from klue.tasks.klue.wos import SLOTS

SURE = 20.0
"""Logit of what is right where all others are 0."""


def ceilings(model: Path, data: Path, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return {"task", "examples", "inputs", "cut" (inputs), "max_length", "scores"} of each task's dev examples.

    Args:
        model: folder of an encoder with its tokenizer; its weights are not looked at.

    Raises:
        UserError: the model or the data do not fit.
    """
    facts = read_model_folder(model)
    found = []
    for name in names:
        task = get_task(name)
        folder = suite_folder(data, task.name)
        file = find_file(task, folder, "dev")
        if file is None and len(names) < len(KLUE):
            raise UserError(
                f"no dev file of {name} in {folder / task.folder}",
                f"the data folder has the official layout: {task.file('dev') or task.file('train')}",
                "fix --data, or name other tasks with --task",
            )
        if file is None:
            say(f"{name} is left out: {data} has no dev file of it")
            continue
        examples = read_examples(task, file)
        check_reading(task, examples, load_tokenizer(model), model)
        length = min(task.authors.max_seq_len, facts.max_positions)
        scores, features = ceiling(task, examples, facts, length)
        row = {"task": task.name, "examples": len(examples), "inputs": len(features.owner), "cut": features.cut}
        row |= {"max_length": length, "scores": scores}
        found.append(row)
    if not found:
        raise UserError(f"{data} holds no dev file of any task", "the data folder has the official layout")
    return found


def ceiling(
    task: Task, examples: Sequence[Example], model: ModelFacts, max_length: int
) -> tuple[dict[str, float], Features]:
    """Return the scores of faultless outputs, and the features.

    Args:
        max_length: tokens of an input at most.
    """
    tokenizer = load_tokenizer(model.folder)
    features = make_features(task, examples, tokenizer, model, max_length)
    outputs = faultless(task, features)
    scores = task.score(features.labels, task.decode(outputs, features, tokenizer))
    return scores | task.published(outputs, features, tokenizer), features


def faultless(task: Task, features: Features) -> Outputs:
    """Return the outputs of a head that puts out exactly what it is trained to."""
    return _FAULTLESS[task.head](task, features)


def _sequence(task: Task, features: Features) -> Outputs:
    labels = features.columns["labels"]
    if task.outputs == 1:
        return {"logits": [np.array([label]) for label in labels]}
    return {"logits": list(SURE * np.eye(task.outputs)[labels])}


def _tokens(task: Task, features: Features) -> Outputs:
    return {"tags": [np.where(row == IGNORED, task.outputs - 1, row) for row in features.columns["labels"]]}


def _span(task: Task, features: Features) -> Outputs:
    found: dict[str, list[np.ndarray]] = {}
    for name in ("start", "end"):
        places = features.columns[f"{name}_positions"]
        lengths = features.lengths
        found[name] = [SURE * (np.arange(size) == place) for size, place in zip(lengths, places, strict=True)]
    return found


def _biaffine(task: Task, features: Features) -> Outputs:
    heads = [np.maximum(row, 0) for row in features.columns["heads"]]
    highest = [np.full(len(row), SURE) for row in heads]
    return {"heads": heads, "relations": list(features.columns["relations"]), "highest": highest}


def _trade(task: Task, features: Features) -> Outputs:
    slots, steps = len(SLOTS), features.shared["steps"]
    values = [row.reshape(slots, -1)[:, :steps].reshape(-1) for row in features.columns["values"]]
    return {"gates": list(features.columns["gates"]), "values": values}


_FAULTLESS: dict[str, Callable[[Task, Features], Outputs]] = {
    "sequence": _sequence,
    "choice": _sequence,
    "tokens": _tokens,
    "span": _span,
    "biaffine": _biaffine,
    "trade": _trade,
}
