"""Training values where nothing is stated: the authors' for a benchmark, by examples and width for an own task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from klue.tasks.base import LARGE_FROM_HIDDEN, Task
from klue.tasks.own import OwnFiles

STEPS = 1000
"""Optimizer steps that a small train set is passed over for, within `EPOCHS`."""
EPOCHS = (3, 20)
EVALUATIONS = 20
"""Times, about, that dev is scored in all."""
PATIENCE = 5
"""Evaluations without a better score after which training ends."""
SMALL_BATCH, BATCH, SMALL_SET = 16, 32, 2000
"""Examples per step below and from so many train examples on."""
RATES = ((LARGE_FROM_HIDDEN, 2e-5), (512, 5e-5), (256, 1e-4), (0, 3e-4))
"""Hidden size from which on → learning rate: narrow models need higher ones."""
RARE = 10
"""How many times the rarest class the most frequent one has where classes are weighted."""


def default_values(task: Task, hidden_size: int, train: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Return a task's training values where the settings state none.

    Args:
        hidden_size: width of the model.
        train: label → train examples, of an own task; None where they are not known yet.
    """
    values: dict[str, Any] = {"max_train_examples": None, **asdict(task.authors)}
    large = values.pop("large")
    if not isinstance(task, OwnFiles):
        return values | (large if hidden_size >= LARGE_FROM_HIDDEN else {})
    counts = dict(train or {})
    examples = max(1, sum(counts.values()))
    batch = SMALL_BATCH if examples < SMALL_SET else BATCH
    epochs = min(max(EPOCHS[0], -(-STEPS * batch // examples)), EPOCHS[1])
    weighted = task.row.family == "classification" and task.selection == "macro_f1"
    return values | {
        "epochs": epochs,
        "global_batch": batch,
        "learning_rate": next(rate for width, rate in RATES if hidden_size >= width),
        "evaluations_per_epoch": max(1, EVALUATIONS // epochs),
        "patience": PATIENCE,
        "class_weights": weighted and max(counts.values(), default=0) >= RARE * min(counts.values(), default=1),
    }
