"""Which training values a task is tried with: one set, a few, or the paper's grid."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from common.message import Message
from klue.settings import KlueSettings, Training, resolve_training, sections_of
from klue.tasks.base import Task

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
