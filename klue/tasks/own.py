"""A user's own tasks: a row says which files, fields and labels; the kinds are those of the benchmarks' tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from common.errors import UserError
from data.nfc import composed
from klue.metrics.entities import entity_spans
from klue.metrics.pairs import Weighted
from klue.metrics.sets import weighted_set_scores, weighted_span_scores
from klue.tasks.base import AuthorsValues, Example, Features, Outputs, Sizes, Task
from klue.tasks.fields import one_of, value_at
from klue.tasks.klue.ner import Ner
from klue.tasks.koelectra.korquad import KorQuad
from klue.tasks.own_base import OwnFiles, as_label, listed
from klue.tasks.own_row import METRICS_OF, NAMES, OwnTask
from klue.tasks.sentences import Choice, Classification, Regression, Sentences

__all__ = ["METRICS_OF", "OwnFiles", "OwnTask", "build_own"]

SEPARATORS = "|;,"
"""What may part several labels in one field: the first of these that a file has there."""
TRUE, FALSE = ("1", "true", "yes", "y", "o"), ("", "0", "false", "no", "n", "x")
"""What a field of one label's may hold."""
FORM = "entities are a list of {start, end, label}, or of [start, end, label]"


class OwnClassification(OwnFiles, Classification):
    def label(self, value: Any) -> str:
        return super().label(as_label(value))


class OwnRegression(OwnFiles, Regression):
    scaled = True
    labels = ()  # type: ignore[assignment]


class OwnChoice(OwnClassification, Choice):
    @cached_property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        labels = super().labels
        if {*labels} <= {*self.row.choices}:  # the answer is the name of its field
            return tuple(self.row.choices)
        if len(labels) != self.choices:
            raise UserError(
                f"{self.name}: {len(labels)} labels ({listed(labels)}) for {self.choices} choices",
                "each choice has a label, in their order",
                "list the values that stand for the choices: labels",
            )
        return labels


class MultiLabel(OwnFiles, Sentences):
    """Any number of labels a text: those whose output is above 0."""

    like = "multi-label"
    head = "labels"
    score = Task.score

    @property
    def required(self) -> list[str]:
        return list(self.text_columns)

    @cached_property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        several = len(self.row.label) > 1 and not self.row.labels
        return tuple(map(composed, self.row.label)) if several else super().labels

    def records_of(self, stream: IO[bytes], path: Path, labelled: bool = True) -> list[Any]:
        records = super().records_of(stream, path, labelled)
        if labelled and len(self.row.label) == 1:
            fields = [value_at(record, self.row.label[0]) for record in records]
            sign = next((s for s in SEPARATORS if any(isinstance(f, str) and s in f for f in fields)), SEPARATORS)
            lists = [field.strip(" []").split(sign) if isinstance(field, str) else field for field in fields]
            records = [{**record, self.row.label[0]: each} for record, each in zip(records, lists, strict=True)]
        return records

    def values(self, record: Any) -> list[str]:
        if len(columns := self.row.label) > 1:
            return [composed(column) for column in columns if self._is_set(record.get(column), column)]
        value = value_at(record, columns[0])
        items = value if isinstance(value, list) else [] if value is None else [value]
        return [label for item in items if (label := as_label(item).strip("'\" "))]

    def _is_set(self, value: Any, column: str) -> bool:
        text = "" if value is None else as_label(value).lower()
        if text in (*TRUE, *FALSE):
            return text in TRUE
        raise ValueError(f"'{column}' holds {value!r}: a label's field holds 1 or 0")

    def classes(self, example: Example) -> Iterable[str]:
        return list(example.label)

    def read(self, record: Any, guid: str) -> list[Example]:
        labels = {one_of(label, self.labels, self.name) for label in self.values(record)}
        return [Example(record["guid"], self.texts(record), [label for label in self.labels if label in labels])]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        return [Example(guid, self.texts(record), [])]

    def label(self, value: Any) -> Any:
        raise NotImplementedError  # `read` takes whole records

    def check(self, prediction: Any, label: Any) -> list[str]:
        if not isinstance(prediction, list):
            raise ValueError("a prediction is a list of labels")
        return [one_of(item, self.labels, self.name) for item in prediction]

    def target(self, example: Example) -> Any:
        return [int(label in example.label) for label in self.labels]

    def decode(self, outputs: Outputs, features: Features, tokenizer: Any = None) -> list[list[str]]:
        """Return the labels whose probability is above one half."""
        return [
            [label for label, logit in zip(self.labels, logits, strict=True) if logit > 0]
            for logits in outputs["logits"]
        ]

    def weighted(self, gold: Sequence[Any], predictions: Sequence[Any]) -> Weighted:
        return weighted_set_scores(gold, predictions)


class OwnTagging(OwnFiles, Ner):  # type: ignore[override]
    """Entities of any types: labels stand at characters, as in KLUE-NER."""

    like = "klue-ner"
    as_published = {}  # noqa: RUF012

    def records_of(self, stream: IO[bytes], path: Path, labelled: bool = True) -> list[Any]:
        records = super().records_of(stream, path, labelled)
        gap = gap_of([tokens for record in records if isinstance(tokens := self._tokens(record), list)])
        return [{**record, "gap": gap} for record in records]

    def _tokens(self, record: Any) -> Any:
        return next((record[name] for name in (*self.row.text, "tokens") if record.get(name) is not None), None)

    def read(self, record: Any, guid: str) -> list[Example]:
        text, labels = self._text_and_labels(record)
        check_order(labels)
        tags = [one_of(label, self.labels, self.name) for c, label in zip(text, labels, strict=True) if c != " "]
        return [Example(record["guid"], (text,), tags)]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        tokens = self._tokens(record)
        text = record["gap"].join(map(str, tokens)) if isinstance(tokens, list) else tokens
        return super().unlabelled({**record, "text": text}, guid)

    def values(self, record: Any) -> Iterable[str]:
        labels = {label[2:] for label in self._text_and_labels(record)[1] if label != "O"}
        return ["O", *(f"{part}-{composed(label)}" for label in labels for part in "BI")]

    def classes(self, example: Example) -> Iterable[str]:
        return {label[2:] for label in example.label if label != "O"}

    def _text_and_labels(self, record: Any) -> tuple[str, list[str]]:
        tokens = self._tokens(record)
        names = (*self.row.label, "tags", "entities")
        tags = next((record[name] for name in names if record.get(name) is not None), None)
        if isinstance(tokens, str):
            return tokens, labels_of_spans(tokens, tags)
        if isinstance(tokens, list) and isinstance(tags, list):
            return labels_of_tokens(tokens, tags, record["gap"])
        raise ValueError(f"it has no {' or '.join(self.row.text)} with entities, and no tokens with tags")

    def contradiction(self, record: Any) -> str:
        return ""

    def weighted(self, gold: Sequence[Any], predictions: Sequence[Any]) -> Weighted:
        return weighted_span_scores(*([entity_spans(labels) for labels in side] for side in (gold, predictions)))


class OwnReading(OwnFiles, KorQuad):
    like = "korquad"
    labels = ()  # type: ignore[assignment]
    guid_column = "id"

    def split_key(self, example: Example) -> str:
        return " ".join(composed(example.texts[1]).split())  # questions of one passage stay together

    def read(self, record: Any, guid: str) -> list[Example]:
        answers = record["answers"] if not record.get("is_impossible") else []
        none = not (answers.get("text") if isinstance(answers, dict) else answers)
        if none and not self.row.unanswerable:
            raise ValueError("it has no answer: set unanswerable: true")
        return super().read({**record, "is_impossible": none, "answers": answers}, guid)


KINDS: dict[str, type[Task]] = {
    "classification": OwnClassification,
    "regression": OwnRegression,
    "choice": OwnChoice,
    "multi-label": MultiLabel,
    "tagging": OwnTagging,
    "reading": OwnReading,
}


def build_own(row: OwnTask) -> Task:
    """Return the task of a row; its files are not looked at before they are needed."""
    metrics = METRICS_OF[row.family]
    first = row.metric or metrics[0]
    reading = row.kind == "reading"
    texts = ("question", "context") if reading else (*row.text, *row.choices)
    if row.kind == "tagging" and row.text == ["text"]:  # or tokens
        texts = ()
    attributes = {
        "name": row.name, "title": row.name, "folder": "", "row": row, "suffix": "", "hub_config": "",
        "files": tuple(filter(None, row.places.values())), "sizes": Sizes(),
        "dev_share": 0.0 if isinstance(row.dev, str) else row.dev,
        "text_columns": texts,
        "label_column": row.label[0], "choices": len(row.choices) or 1, "selection": first, "partial_files": {},
        "metrics": {first: NAMES[first]}, "extra_metrics": {key: NAMES[key] for key in metrics if key != first},
        "unanswerable": row.unanswerable, "authors": AuthorsValues(epochs=3, max_seq_len=384 if reading else 256),
    }  # fmt: skip
    return type(f"Own{row.kind.title()}", (KINDS[row.family],), attributes)()  # type: ignore[no-any-return]


def gap_of(sentences: Sequence[Sequence[Any]]) -> str:
    """Return what stands between the tokens of a file: nothing where they are single characters, else a blank. Single
    characters have the blanks of the text among them, or a file has no longer token."""
    tokens = [str(token) for sentence in sentences for token in sentence]
    return "" if " " in tokens or all(len(token) < 2 for token in tokens) else " "


def labels_of_tokens(tokens: Sequence[Any], tags: Sequence[Any], gap: str) -> tuple[str, list[str]]:
    """Return a text and a label for each of its characters, `gap` being between the tokens. Raises ValueError where a
    tag is no label of BIO, or there are not as many as tokens."""
    if len(tokens) != len(tags):
        raise ValueError(f"there are {len(tokens)} tokens and {len(tags)} tags")
    labels: list[str] = []
    for number, (token, tag) in enumerate(zip(map(str, tokens), map(str, tags), strict=True)):
        if tag != "O" and (tag[:2] not in ("B-", "I-") or not tag[2:]):
            raise ValueError(f"{tag!r} is no label of BIO: O, B-TYPE or I-TYPE")
        inside = tag if tag == "O" else f"I-{tag[2:]}"
        between = [tag if tag == inside else "O"] * len(gap if number else "")
        labels += [*between, tag, *[inside] * len(token)][: len(between) + len(token)]
    return gap.join(map(str, tokens)), labels


def labels_of_spans(text: str, spans: Any) -> list[str]:
    """Return a label for each character of a text. Raises ValueError for an entity that does not fit it, or one that
    overlaps another.

    Args:
        spans: objects with start, end (exclusive) and label, or lists of the three.
    """
    if not isinstance(spans, list):
        raise ValueError(f"{FORM}, not {spans!r:.40}")
    labels = ["O"] * len(text)
    for span in spans:
        try:
            start, end, label = (span[key] for key in ("start", "end", "label")) if isinstance(span, dict) else span
            start, end = int(start), int(end)
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"{FORM}, not {span!r:.60}") from None
        if not 0 <= start < end <= len(text) or not text[start:end].strip():
            raise ValueError(f"{label} at {start} to {end} does not fit a text of {len(text)} characters")
        if set(labels[start:end]) != {"O"}:
            raise ValueError(f"{label} at {start} to {end} overlaps another entity")
        start += len(text[start:end]) - len(text[start:end].lstrip())
        labels[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return labels


def check_order(labels: Sequence[str]) -> None:
    """Raise a ValueError where an entity continues that has not begun."""
    for before, label in pairwise(["O", *labels]):
        if label.startswith("I-") and before[2:] != label[2:]:
            raise ValueError(f"{label} stands behind {before}: an entity begins with B-{label[2:]}")
