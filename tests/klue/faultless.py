"""Outputs of a model without fault: what they score is what a tokenizer, and the longest input, leave of a task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from klue.examples import find_file, read_examples
from klue.features import check_reading, load_tokenizer, make_features
from klue.model_folder import ModelFacts, read_model_folder
from klue.tasks import get_task, suite_folder
from klue.tasks.base import Example, Features, Outputs, Task
from klue.tasks.klue.ner import IGNORED
from klue.tasks.klue.wos import SLOTS

SURE = 20.0
"""Logit of what is right where all others are 0."""


def ceilings(model: Path, data: Path, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the scores of faultless outputs on each task's dev examples, as a fine-tuning would read them."""
    facts, scores = read_model_folder(model), {}
    for name in names:
        task = get_task(name)
        file = find_file(task, suite_folder(data, name), "dev")
        assert file
        examples = read_examples(task, file)
        check_reading(task, examples, load_tokenizer(model), model)
        scores[name] = ceiling(task, examples, facts, min(task.authors.max_seq_len, facts.max_positions))[0]
    return scores


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
