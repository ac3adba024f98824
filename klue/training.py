"""The training values of a task: the benchmark authors', for an own task by examples and width, and those that a search
tries: one set, a few, or the paper's grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import product
from typing import Any

from common.message import Message
from common.settings import Settings
from klue.settings import FineTuneSettings, KlueSettings
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
GRID: dict[str, tuple[float, ...]] = {
    "learning_rate": (1e-5, 2e-5, 3e-5, 5e-5),
    "warmup_share": (0.0, 0.1, 0.2, 0.6),
    "weight_decay": (0.0, 0.01),
    "global_batch": (8, 16, 32),
    "epochs": (3, 4, 5, 10),
}
"""Values of the paper's search, section 5."""
SEARCHES: dict[str, tuple[str, ...]] = {"none": (), "small": ("learning_rate",), "grid": tuple(GRID)}
"""What is varied; all else has the value it would have without a search."""


class Training(Settings):
    """The values a job is fine-tuned with, all of them resolved; see FineTuneSettings for units."""

    epochs: int
    learning_rate: float
    global_batch: int
    warmup_share: float
    weight_decay: float
    max_seq_len: int
    evaluations_per_epoch: int
    patience: int = 0
    dropout: float | None = None
    metric_for_best_model: str | None = None
    max_train_examples: int | None
    class_weights: bool = False
    pos_tags: bool = True
    """KLUE-DP only."""
    parser_width: int | None = None
    """KLUE-DP only."""
    texts_only: bool = False
    """WoS only."""

    @property
    def values(self) -> dict[str, Any]:
        """Return what identifies the training; optional values only where one is given."""
        values = self.model_dump()
        optional = ("metric_for_best_model", "parser_width", "class_weights")
        return {name: value for name, value in values.items() if name not in optional or value not in (None, False)}


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


def sections_of(settings: KlueSettings, task: Task) -> list[FineTuneSettings]:
    """Return the sections that state a task's values, the one that goes before the others last."""
    return [settings.training, *([settings.per_task[task.name]] if task.name in settings.per_task else [])]


def resolve_training(
    settings: KlueSettings, task: Task, hidden_size: int, train: Mapping[str, int] | None = None
) -> Training:
    """Return one task's values: its own section's, else `training`, else `default_values`."""
    values = default_values(task, hidden_size, train)
    for section in sections_of(settings, task):
        values.update(section.model_dump(exclude_none=True))
    return Training(**values)


def tried_values(
    settings: KlueSettings, task: Task, hidden_size: int, train: Mapping[str, int] | None = None
) -> list[Training]:
    """Return the values that a task is fine-tuned with, one a job and seed; what the settings name is not varied."""
    values = resolve_training(settings, task, hidden_size, train)
    sections = sections_of(settings, task)
    free = [name for name in SEARCHES[settings.search] if all(getattr(section, name) is None for section in sections)]
    choices = product(*(GRID[name] for name in free))
    return [values.model_copy(update=dict(zip(free, choice, strict=True))) for choice in choices]


def values_name(values: dict[str, Any]) -> str:
    """Return the varied values as a part of a folder's name: "lr3e-05-warmup0.1-decay0-batch32-epochs4"."""
    short = zip(GRID, ("lr", "warmup", "decay", "batch", "epochs"), strict=True)
    return "-".join(f"{word}{values[name]:g}" for name, word in short)


def values_text(values: dict[str, Any]) -> str:
    """Return the varied values for people."""
    return Message(
        "learning rate {rate}, warm-up {warmup}, weight decay {decay}, batch {batch}, {epochs:epoch}",
        rate=f"{values['learning_rate']:g}",
        warmup=f"{values['warmup_share']:g}",
        epochs=values["epochs"],
        decay=f"{values['weight_decay']:g}",
        batch=values["global_batch"],
    )
