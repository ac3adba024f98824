"""What a task is: how its records are read, which labels it has, how it is scored, and the authors' settings for it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

LARGE_FROM_HIDDEN = 1024
"""Hidden size from which a model counts as "large" in the authors' settings (RoBERTa-large: 1024, base: 768)."""


@dataclass(frozen=True)
class Example:
    """One example of a sentence-level task."""

    guid: str
    texts: tuple[str, ...]
    """One text, or a pair."""
    label: str | float
    """A label of the task's set, or a number for regression."""


@dataclass(frozen=True)
class AuthorsValues:
    """What the benchmark authors' code fine-tunes with; the `large` values hold from hidden size 1024 on."""

    epochs: int
    learning_rate: float
    learning_rate_large: float
    warmup_share: float
    warmup_share_large: float
    batch_size: int = 32
    weight_decay: float = 0.0
    max_length: int = 128
    evaluations_per_epoch: int = 4


class Task(ABC):
    """A benchmark task. Subclasses say what differs; nothing here knows about torch."""

    name: ClassVar[str]
    """Name on the command line and in results: "klue-nli"."""
    key: ClassVar[str]
    """Name of the task's section in the settings: "nli"."""
    title: ClassVar[str]
    """Name in tables."""
    folder: ClassVar[str]
    """Folder in the benchmark's official layout; its files are called <folder>_<split>.json."""
    partial_files: ClassVar[dict[str, tuple[str, ...]]] = {}
    """Split → globs of known incomplete files, tried when the official file is missing."""
    metrics: ClassVar[dict[str, str]]
    """Key of each metric in results → its name in tables."""
    selection: ClassVar[str]
    """The metric by which the best evaluation is chosen."""
    authors: ClassVar[AuthorsValues]

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Return the number of values that the head puts out for an example."""

    @abstractmethod
    def read(self, record: dict[str, Any], guid: str) -> Example:
        """Return a record of the official file as an example.

        Args:
            record: one object of the file's list.
            guid: the name to give it when it has none of its own.

        Raises:
            KeyError: a field is missing.
            ValueError: a field holds what the task does not allow.
        """

    @abstractmethod
    def target(self, example: Example) -> int | float:
        """Return what the loss is taken against: the label's index, or the number."""

    @abstractmethod
    def decode(self, outputs_NC: np.ndarray) -> list[Any]:
        """Return predictions in the form of the predictions file from the head's outputs, shape (examples, outputs)."""

    @abstractmethod
    def check(self, prediction: Any) -> Any:
        """Return one prediction of a predictions file.

        Raises:
            ValueError: it does not have the form that the task asks for.
        """

    @abstractmethod
    def score(self, gold: Sequence[Any], predictions: Sequence[Any]) -> dict[str, float]:
        """Return the task's metrics × 100 for gold labels and predictions in the same order."""


def text_field(record: dict[str, Any], name: str) -> str:
    """Return a text field of a record.

    Raises:
        KeyError: it is missing.
        ValueError: it is not text.
    """
    value = record[name]
    if not isinstance(value, str):
        raise ValueError(f"'{name}' is not text")
    return value


class Classification(Task):
    """A task with one label of a closed set."""

    labels: ClassVar[tuple[str, ...]]

    @property
    def outputs(self) -> int:
        """Return the number of labels."""
        return len(self.labels)

    def check(self, prediction: Any) -> str:
        """Return the label; raises ValueError when it is outside the set."""
        if prediction not in self.labels:
            raise ValueError(f"{prediction!r} is not a label of {self.name}; labels: {', '.join(self.labels)}")
        return str(prediction)

    def target(self, example: Example) -> int:
        """Return the label's index in the set."""
        return self.labels.index(str(example.label))

    def decode(self, outputs_NC: np.ndarray) -> list[str]:
        """Return the label with the largest output for each example (the first of equals)."""
        return [self.labels[i] for i in outputs_NC.argmax(axis=1)]


class Regression(Task):
    """A task with one number."""

    @property
    def outputs(self) -> int:
        """Return 1."""
        return 1

    def check(self, prediction: Any) -> float:
        """Return the number; raises ValueError when it is none, or not finite."""
        if isinstance(prediction, bool) or not isinstance(prediction, (int, float)) or not math.isfinite(prediction):
            raise ValueError(f"{prediction!r} is not a finite number; predictions of {self.name} are numbers")
        return float(prediction)

    def target(self, example: Example) -> float:
        """Return the label as a number."""
        return float(example.label)

    def decode(self, outputs_NC: np.ndarray) -> list[float]:
        """Return the raw outputs, unclipped."""
        return [float(value) for value in outputs_NC[:, 0]]
