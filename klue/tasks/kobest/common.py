"""What KoBEST's tasks share: their files, their metrics, the values they are fine-tuned with."""

from __future__ import annotations

from typing import ClassVar

from klue.tasks.base import AuthorsValues
from klue.tasks.table import LabelTable


class KobestTask(LabelTable):
    """A task of KoBEST: train.tsv, dev.tsv and test.tsv in a folder, macro F1 and accuracy."""

    metrics: ClassVar[dict[str, str]] = {"macro_f1": "macro F1", "accuracy": "accuracy"}

    def label(self, value: str) -> str:
        """Return the label; True and False may be in any case."""
        return super().label(value.strip().capitalize())


def own_values(max_seq_len: int) -> AuthorsValues:
    """Return this project's values for a task with inputs of so many tokens."""
    return AuthorsValues(epochs=10, learning_rate=3e-5, max_seq_len=max_seq_len, large={"learning_rate": 1e-5})
