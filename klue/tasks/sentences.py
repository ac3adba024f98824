"""Tasks with one output for a text, a pair of texts, or each of several texts to choose from."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import IO, Any, ClassVar

import numpy as np

from klue.metrics.confidence import repeated
from klue.metrics.pairs import Weighted
from klue.metrics.sentence import METRICS, weighted_label_scores
from klue.tasks.base import Columns, Example, Features, Outputs, Task
from klue.tasks.fields import finite, one_of, text_field, value_at
from klue.tasks.files import table_records
from klue.tokens import encode


class Sentences(Task):
    """A task with one output for a text or a pair of texts."""

    label_column: ClassVar[str] = "label"
    """Field with the label, or the way to it."""
    hub_label: ClassVar[str] = ""
    """Its name in the hub's copy, where that is another."""
    document_column: ClassVar[str] = ""
    """Field that neighbouring examples share; "": the first text."""
    allowed: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Field → the texts that may stand there."""

    def records(self, stream: IO[bytes]) -> list[Any]:
        return super().records(stream) if self.suffix == "json" else table_records(stream)

    def texts(self, record: Any) -> tuple[str, ...]:
        """Return the texts of a record; raises KeyError or ValueError where one is missing, or none."""
        texts = [text_field(record, column) for column in self.text_columns]
        return tuple(
            one_of(text.strip(), self.allowed[column], self.name) if column in self.allowed else text
            for column, text in zip(self.text_columns, texts, strict=True)
        )

    @abstractmethod
    def label(self, value: Any) -> Any:
        """Return the label that a field says; raises ValueError where it says none."""

    def read(self, record: Any, guid: str) -> Iterable[Example]:
        """Return the example of a record; a table's row is named by the task and its number."""
        way = self.hub_label if self.hub_label in record else self.label_column
        name = guid if self.suffix == "json" else f"{self.name}-{guid}"
        return [Example(record.get("guid", name), self.texts(record), self.label(value_at(record, way)))]

    def unlabelled(self, record: Any, guid: str) -> Iterable[Example]:
        return [Example(guid, self.texts(record), self.labels[0] if self.labels else 0.0)]

    def document(self, example: Example) -> str:
        return example.texts[self.text_columns.index(self.document_column) if self.document_column else 0]

    def score(self, gold: Sequence[Any], predictions: Sequence[Any]) -> dict[str, float]:
        return {key: METRICS[key](gold, predictions) for key in (*self.metrics, *self.extra_metrics)}

    def weighted(self, gold: Sequence[Any], predictions: Sequence[Any]) -> Weighted:
        keys = (*self.metrics, *self.extra_metrics)
        if not {*keys} <= {"accuracy", "macro_f1"}:
            return repeated(self.score)(gold, predictions)
        scores = weighted_label_scores(gold, predictions)
        return lambda weights_N: {key: score for key, score in scores(weights_N).items() if key in keys}

    @abstractmethod
    def target(self, example: Example) -> int | float:
        """Return what the loss is taken against: the label's index, or the number."""

    def features(self, examples: Sequence[Example], tokenizer: Any, max_length: int, token_types: bool) -> Columns:
        """Return ids and targets; a pair is cut from its longer text until it fits."""
        texts = list(zip(*(example.texts for example in examples), strict=True))
        columns = encode(texts, tokenizer, max_length, token_types)
        return {**columns, "labels": [self.target(example) for example in examples]}


class Classification(Sentences):
    """A task with one label of a closed set. A file's labels may differ from the set's in case, and have white space
    around them."""

    def label(self, value: Any) -> str:
        text = value.strip() if isinstance(value, str) else value
        if isinstance(text, str) and text not in self.labels:
            alike = [label for label in self.labels if label.casefold() == text.casefold()]
            text = alike[0] if len(alike) == 1 else text
        return one_of(text, self.labels, self.name)

    def check(self, prediction: Any, label: Any) -> Any:
        return one_of(prediction, self.labels, self.name)

    def target(self, example: Example) -> int:
        return self.labels.index(str(example.label))

    def decode(self, outputs: Outputs, features: Features, tokenizer: Any = None) -> list[Any]:
        """Return the label with the largest output for each example (the first of equals)."""
        return [self.labels[i] for i in np.stack(outputs["logits"]).argmax(axis=1)]

    def probabilities(self, outputs: Outputs) -> list[dict[str, float]]:
        """Return each label's probability (softmax) for each example."""
        logits_NC = np.stack(outputs["logits"])
        shares_NC = np.exp(logits_NC - logits_NC.max(axis=1, keepdims=True))
        shares_NC /= shares_NC.sum(axis=1, keepdims=True)
        return [dict(zip(self.labels, map(float, shares), strict=True)) for shares in shares_NC]


class Regression(Sentences):
    """A task with one number."""

    outputs = 1

    def label(self, value: Any) -> float:
        try:
            return finite(float(value) if isinstance(value, str) and self.suffix != "json" else value, self.name)
        except ValueError:
            raise ValueError(f"{self.label_column} {value!r} is not a finite number") from None

    def check(self, prediction: Any, label: Any) -> float:
        return finite(prediction, self.name)

    def target(self, example: Example) -> float:
        return float(example.label)

    def decode(self, outputs: Outputs, features: Features, tokenizer: Any = None) -> list[float]:
        """Return the raw outputs, unclipped."""
        return [float(value[0]) for value in outputs["logits"]]


class Choice(Classification):
    """A task with as many labels as there are texts to choose from, in their order. Each is read beside what comes
    before them all, and the best one is the answer."""

    head = "choice"

    def pairs(self, example: Example) -> list[tuple[str, str]]:
        """Return what is read, one pair of texts a choice: what is given, and the choice."""
        context = " ".join(example.texts[: -self.choices])
        return [(context, choice) for choice in example.texts[-self.choices :]]

    def features(self, examples: Sequence[Example], tokenizer: Any, max_length: int, token_types: bool) -> Columns:
        """Return the ids of an example's pairs one behind the other, how many each has, and the label's index."""
        pairs = [pair for example in examples for pair in self.pairs(example)]
        encoded = encode(list(zip(*pairs, strict=True)), tokenizer, max_length, token_types)
        cut = encoded.pop("cut")
        each = [slice(at, at + self.choices) for at in range(0, len(pairs), self.choices)]
        return {
            "labels": [self.target(example) for example in examples],
            "pair_lengths": [[len(row) for row in encoded["input_ids"][pair]] for pair in each],
            "cut": [any(cut[pair]) for pair in each],
            **{name: [list(chain.from_iterable(rows[pair])) for pair in each] for name, rows in encoded.items()},
        }
