"""What the tasks of this suite share: accuracy, and the values that KoELECTRA's code fine-tunes with."""

from __future__ import annotations

from typing import ClassVar

from klue.tasks.base import AuthorsValues
from klue.tasks.table import LabelTable


class Accuracy(LabelTable):
    """A task of one label that is scored by accuracy."""

    metrics: ClassVar[dict[str, str]] = {"accuracy": "accuracy"}
    selection = "accuracy"


def koelectra_values(
    epochs: int = 10, learning_rate: float = 5e-5, batch_size: int = 32, max_length: int = 128
) -> AuthorsValues:
    """Return the values of its configuration files: no warm-up, no decay; arguments are what differs between tasks."""
    return AuthorsValues(
        epochs=epochs,
        learning_rate=learning_rate,
        learning_rate_large=learning_rate,
        warmup_share=0.0,
        warmup_share_large=0.0,
        batch_size=batch_size,
        batch_size_large=batch_size,
        max_length=max_length,
    )
