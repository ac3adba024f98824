"""What the tasks of this suite share: accuracy, and the values that KoELECTRA's code fine-tunes with."""

from __future__ import annotations

from typing import Any, ClassVar

from klue.tasks.base import AuthorsValues
from klue.tasks.table import LabelTable


class Accuracy(LabelTable):
    """A task of one label that is scored by accuracy."""

    metrics: ClassVar[dict[str, str]] = {"accuracy": "accuracy"}


def koelectra_values(epochs: int = 10, **values: Any) -> AuthorsValues:
    """Return the values of its configuration files: no warm-up, no decay; arguments are what differs between tasks."""
    return AuthorsValues(epochs=epochs, warmup_share=0.0, **values)
