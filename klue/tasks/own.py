"""A user's own tasks: a row says which files, fields and labels; the kinds are those of the benchmarks' tasks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator

from common.compressed import decompression_errors
from common.errors import UserError
from common.files import open_bytes
from common.message import Message
from common.settings import Settings, place
from data.nfc import composed
from klue.metrics.entities import entity_spans
from klue.metrics.labels import weighted_set_scores, weighted_span_scores
from klue.metrics.pairs import Weighted
from klue.tasks.base import AuthorsValues, Example, Features, Outputs, Sentences, Task
from klue.tasks.fields import one_of
from klue.tasks.klue.ner import Ner
from klue.tasks.koelectra.korquad import KorQuad
from klue.tasks.own_files import SUFFIXES, form_of, read_rows
from klue.tasks.rows import METRICS, RowChoice, RowClassification, RowRegression, value_at

METRICS_OF = {
    "classification": ("macro_f1", "accuracy"),
    "regression": ("spearmanr", "pearsonr"),
    "multi-label": ("micro_f1", "macro_f1", "exact_match"),
    "tagging": ("entity_micro_f1", "entity_macro_f1"),
    "choice": ("accuracy", "macro_f1"),
    "reading": ("f1", "exact_match"),
}
"""Kind → its metrics, the first of which is the default."""
NAMES = {
    **METRICS,
    "micro_f1": "micro F1",
    "exact_match": "exact match",
    "entity_micro_f1": "entity F1",
    "entity_macro_f1": "entity macro F1",
}
MOST_LABELS = 1000
"""More different labels than this are taken for texts or numbers."""
SEPARATORS = "|;,"
"""What may part several labels in one field, in this order."""
TRUE, FALSE = ("1", "true", "yes", "y", "o"), ("", "0", "false", "no", "n", "x")
"""What a field of one label's may hold."""
SPLITS = ("train", "dev", "test")


class OwnTask(Settings):
    """A task of your own: labelled examples in a file."""

    name: str = Field(pattern=r"^[a-z0-9가-힣][a-z0-9가-힣_-]{0,39}$")
    """Name on the command line, in tables and folders: small letters, digits, Hangul, - and _."""
    kind: Literal["classification", "regression", "pairs", "multi-label", "tagging", "choice", "reading"] = (
        "classification"
    )
    """classification: one label of several for a text or a pair. pairs: the same, of two texts. regression: a number.
    multi-label: any number of labels. tagging: entities, as BIO labels of tokens or as start, end and label in a text.
    choice: which of several texts. reading: the answer in a passage, in SQuAD's form."""
    train: str = place()
    """File with train examples: CSV, TSV, JSON Lines, JSON, Parquet; of tagging also CoNLL. Plain or compressed."""
    dev: float | str = place(0.1)
    """File with dev examples, or the share of the train examples that is taken for it. It is drawn by a hash of the
    text, so equal texts stay together. The best evaluation is chosen on dev."""
    test: str | None = place(None)
    """File with test examples, which are scored once. None: dev is all that is scored."""
    text: list[str] = Field(["text"], min_length=1, max_length=2)
    """Fields with the text, or with the two of a pair. Tagging: the field with the text or its tokens. Choice: what
    comes before the choices. Reading has SQuAD's names."""
    label: list[str] = Field(["label"], min_length=1)
    """Field with the label. Multi-label: the field that lists them, or a field of 0 and 1 for each label. Tagging: the
    tokens' labels, or a list of objects with start, end and label."""
    labels: list[str] = Field([])
    """Labels in the order of the model's outputs; []: those of the files, sorted. Choice: the values that stand for the
    choices, in their order."""
    choices: list[str] = Field([])
    """Fields with the texts of a choice."""
    unanswerable: bool = False
    """Reading: there are questions without an answer, marked is_impossible."""
    metric: str | None = None
    """Metric that is shown first and chosen by. classification, pairs: macro_f1, accuracy. regression: spearmanr,
    pearsonr. multi-label: micro_f1, macro_f1, exact_match. tagging: entity_micro_f1, entity_macro_f1. choice: accuracy,
    macro_f1. reading: f1, exact_match. None is the first of these."""

    @field_validator("text", "label", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("dev")
    @classmethod
    def _share(cls, value: float | str, info: ValidationInfo) -> float | str:
        if not isinstance(value, str) and not 0 < value < 1:
            raise ValueError("dev is a file, or a share of the train examples between 0 and 1")
        return value

    @model_validator(mode="after")
    def _fits(self) -> OwnTask:
        for split, path in self.places.items():
            if path and not form_of(Path(path)):
                raise ValueError(f"{split}: {path} has none of the endings {', '.join(SUFFIXES)}")
        known = METRICS_OF[self.family]
        if self.metric not in (None, *known):
            raise ValueError(f"metric {self.metric} is none of {self.kind}: use one of {', '.join(known)}")
        if (self.kind == "choice") != bool(self.choices) or len(self.choices) == 1:
            raise ValueError("choices: two fields or more of a choice, and of no other kind")
        if self.kind == "pairs" and len(self.text) != 2:
            raise ValueError("text: a pair has two fields, text: [first, second]")
        if self.kind == "tagging" and len(self.text) != 1:
            raise ValueError("text: tagging reads one field")
        if self.kind not in ("multi-label",) and len(self.label) > 1:
            raise ValueError("label: one field; several are of kind multi-label")
        if len(set(self.labels)) < len(self.labels) or len(self.labels) == 1:
            raise ValueError("labels: two or more, each once")
        return self

    @property
    def family(self) -> str:
        """Return the kind whose metrics, head and form it has."""
        return "classification" if self.kind == "pairs" else self.kind

    def published(self, labels: Sequence[str]) -> OwnTask:
        """Return the row with its labels listed and the names of its files, without their folders."""
        names = {split: Path(path).name for split, path in self.places.items() if path}
        return self.model_copy(update={**names, "labels": list(labels)})

    @property
    def places(self) -> dict[str, str]:
        """Return split → its file, "" for none."""
        dev = self.dev if isinstance(self.dev, str) else ""
        return {"train": self.train, "dev": dev, "test": self.test or ""}


class OwnFiles(Task):
    """What a user's tasks of every kind share: their files, labels that are found in them, a dev set drawn by text."""

    row: OwnTask

    def file(self, split: str) -> str | None:
        return self.row.places[split] or None

    def records_of(self, stream: IO[bytes], path: Path) -> list[Any]:
        """Return the records of a file that have a label and all texts; how many have not is told once."""
        records = read_rows(stream, form_of(path))
        wanted = self.fields
        for name in wanted:
            if records and not any(name in record for record in records):
                raise ValueError(f"no column '{name}'; there are {', '.join(list(records[0])[:20])}")
        whole = [record for record in records if not any(is_empty(record.get(name)) for name in wanted)]
        if left := len(records) - len(whole):
            self.set_aside[str(path)] = left
        return whole

    @cached_property
    def set_aside(self) -> dict[str, int]:  # type: ignore[override]
        """Return file → records without a text or a label; they are left out."""
        return {}

    @property
    def fields(self) -> list[str]:
        """Return the fields without which a record says nothing."""
        return [*self.text_columns, *self.row.label]

    def values(self, record: Any) -> Iterable[str]:
        """Return the labels that a record names."""
        return [str(value_at(record, self.row.label[0])).strip()]

    @cached_property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return the labels of the row, else those of its files, numbers by size. Raises UserError for fewer than two
        or more than `MOST_LABELS`."""
        if self.row.labels:
            return tuple(self.row.labels)
        labels: set[str] = set()
        for path in filter(None, self.row.places.values()):
            try:
                with decompression_errors(path), open_bytes(path) as stream:
                    records = self.records_of(stream, Path(path))
                labels.update(label for record in records for label in self.values(record))
            except (ValueError, KeyError) as error:
                raise UserError(f"{path}: {error}", f"{self.name} finds its labels there", "mend the file") from None
        if not 2 <= len(labels) <= MOST_LABELS:
            raise UserError(
                f"{self.name}: {len(labels):,} different labels in {', '.join(self.row.label)}: "
                f"{', '.join(sorted(labels)[:5])} …",
                f"a task of kind {self.row.kind} has 2 to {MOST_LABELS:,}",
                "name the column of labels (label), or the kind: regression has numbers",
            )
        return tuple(sorted(labels, key=lambda label: (_number(label), label)))

    def split_key(self, example: Example) -> str:
        return "\t".join(" ".join(composed(text).split()) for text in example.texts)

    @property
    def rule(self) -> str:
        return f"a record of {self.name} has {', '.join(self.fields or ('tokens', 'tags'))}, as its kind asks for"

    def shortfalls(self, counts: Mapping[str, int]) -> list[Message]:
        return []

    @property
    def scored_split(self) -> str:
        return "test" if self.row.test else "dev"


class OwnClassification(OwnFiles, RowClassification):
    def label(self, value: Any) -> str:
        return super().label(str(value))


class OwnRegression(OwnFiles, RowRegression):
    scaled = True
    labels = ()  # type: ignore[assignment]


class OwnChoice(OwnFiles, RowChoice):
    def label(self, value: Any) -> str:
        return super().label(str(value))

    @cached_property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        labels = super().labels
        if len(labels) != self.choices:
            raise UserError(
                f"{self.name}: {len(labels)} labels ({', '.join(labels[:5])}) for {self.choices} choices",
                "each choice has a label, in their order",
                "list the values that stand for the choices: labels",
            )
        return labels


class MultiLabel(OwnFiles, Sentences):
    """Any number of labels a text: those whose output is above 0."""

    like = "multi-label"
    head = "labels"
    any_label = ()

    @property
    def fields(self) -> list[str]:
        return [*self.text_columns, *(self.row.label if len(self.row.label) > 1 else ())]

    def values(self, record: Any) -> list[str]:
        if len(columns := self.row.label) > 1:
            return [column for column in columns if self._is_set(record[column], column)]
        value = value_at(record, columns[0])
        if isinstance(value, str):
            separator = next((sign for sign in SEPARATORS if sign in value), SEPARATORS[0])
            value = value.split(separator)
        if not isinstance(value, list):
            raise ValueError(f"'{columns[0]}' is no list of labels")
        return [label for item in value if (label := str(item).strip())]

    def _is_set(self, value: Any, column: str) -> bool:
        text = str(int(value) if isinstance(value, (bool, float)) else value).strip().lower()
        if text not in (*TRUE, *FALSE):
            raise ValueError(f"'{column}' holds {value!r}: a label's field holds 1 or 0")
        return text in TRUE

    def read(self, record: Any, guid: str) -> list[Example]:
        labels = {one_of(label, self.labels, self.name) for label in self.values(record)}
        ordered = [label for label in self.labels if label in labels]
        return [Example(record.get("guid", f"{self.name}-{guid}"), self.texts(record), ordered)]

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

    def score(self, gold: Sequence[Any], predictions: Sequence[Any]) -> dict[str, float]:
        return self.weighted(gold, predictions)(np.ones(len(gold)))

    def weighted(self, gold: Sequence[Any], predictions: Sequence[Any]) -> Weighted:
        return weighted_set_scores(gold, predictions)


class OwnTagging(OwnFiles, Ner):  # type: ignore[override]
    """Entities of any types: labels stand at characters, as in KLUE-NER."""

    like = "klue-ner"
    as_published = {}  # noqa: RUF012
    any_label = ()

    @property
    def fields(self) -> list[str]:
        return [] if self.row.label == ["label"] and self.row.text == ["text"] else [*self.row.text, *self.row.label]

    def read(self, record: Any, guid: str) -> list[Example]:
        text, labels = self._text_and_labels(record)
        for before, label in pairwise(["O", *labels]):
            if label.startswith("I-") and before[2:] != label[2:]:
                raise ValueError(f"{label} stands behind {before}: an entity begins with B-{label[2:]}")
        tags = [one_of(label, self.labels, self.name) for c, label in zip(text, labels, strict=True) if c != " "]
        return [Example(record.get("guid", f"{self.name}-{guid}"), (text,), tags)]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        tokens = record.get("tokens", record.get(self.row.text[0]))
        if isinstance(tokens, list):
            record = {"text": ("" if " " in tokens else " ").join(map(str, tokens))}
        return super().unlabelled({**record, "text": record.get("text", tokens)}, guid)

    def values(self, record: Any) -> Iterable[str]:
        kinds = {label[2:] for label in self._text_and_labels(record)[1] if label != "O"}
        return [f"{part}-{kind}" for kind in sorted(kinds) for part in "BI"] + ["O"]

    def _text_and_labels(self, record: Any) -> tuple[str, list[str]]:
        """Return a text and a BIO label for each of its characters."""
        [field], [label] = self.row.text, self.row.label
        tokens = record.get("tokens", record.get(field))
        tags = record.get("tags", record.get(label))
        if isinstance(tokens, str):
            return tokens, _from_spans(tokens, record.get("entities") if tags is None else tags)
        if not isinstance(tokens, list) or not isinstance(tags, list) or len(tokens) != len(tags):
            raise ValueError("it has no text with entities, and not as many tags as tokens")
        gap = "" if " " in tokens else " "  # the characters of a text, spaces among them, or its words
        labels: list[str] = []
        for token, tag in zip(tokens, map(str, tags), strict=True):
            if tag != "O" and tag[:2] not in ("B-", "I-"):
                raise ValueError(f"{tag!r} is no label of BIO: O, B-TYPE or I-TYPE")
            inside = tag if tag == "O" else f"I-{tag[2:]}"
            between = [tag if tag == inside else "O"] if labels and gap else []
            labels += [*between, tag, *[inside] * (len(str(token)) - 1)]
        return gap.join(map(str, tokens)), labels

    def contradiction(self, record: Any) -> str:
        return ""

    def score(self, gold: Sequence[Any], predictions: Sequence[Any]) -> dict[str, float]:
        return self.weighted(gold, predictions)(np.ones(len(gold)))

    def weighted(self, gold: Sequence[Any], predictions: Sequence[Any]) -> Weighted:
        return weighted_span_scores(*([entity_spans(labels) for labels in side] for side in (gold, predictions)))


class OwnReading(OwnFiles, KorQuad):
    like = "korquad"
    labels = ()  # type: ignore[assignment]
    any_label = ()

    @property
    def fields(self) -> list[str]:
        return ["question", "context"]

    def read(self, record: Any, guid: str) -> list[Example]:
        if record.get("is_impossible") and not self.row.unanswerable:
            raise ValueError("it is marked is_impossible: set unanswerable: true")
        return super().read({**record, "guid": str(record.get("guid", record.get("id", f"{self.name}-{guid}")))}, guid)


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
    attributes = {
        "name": row.name, "title": row.name, "folder": "", "row": row, "suffix": "", "hub_config": "",
        "files": tuple(filter(None, row.places.values())), "sizes": (0, 0, 0),
        "dev_share": 0.0 if isinstance(row.dev, str) else row.dev,
        "text_columns": ("question", "context") if reading else (*row.text, *row.choices),
        "label_column": row.label[0], "choices": len(row.choices) or 1, "selection": first, "partial_files": {},
        "metrics": {first: NAMES[first]}, "extra_metrics": {key: NAMES[key] for key in metrics if key != first},
        "unanswerable": row.unanswerable, "authors": AuthorsValues(epochs=3, max_seq_len=384 if reading else 256),
    }  # fmt: skip
    return type(f"Own{row.kind.title()}", (KINDS[row.family],), attributes)()  # type: ignore[no-any-return]


def is_empty(value: Any) -> bool:
    """Return whether a field holds nothing: it is missing, null, or white space."""
    return value is None or (isinstance(value, str) and not value.strip()) or value != value  # nan


def _from_spans(text: str, spans: Any) -> list[str]:
    """Return BIO labels of a text's characters from entities: objects with start, end (exclusive) and label."""
    if not isinstance(spans, list):
        raise ValueError("the entities are no list of objects with start, end and label")
    labels = ["O"] * len(text)
    for span in spans:
        start, end, label = int(span["start"]), int(span["end"]), str(span["label"])
        if not 0 <= start < end <= len(text) or not text[start:end].strip():
            raise ValueError(f"{label} at {start} to {end} does not fit a text of {len(text)} characters")
        if set(labels[start:end]) != {"O"}:
            raise ValueError(f"{label} at {start} to {end} overlaps another entity")
        start += len(text[start:end]) - len(text[start:end].lstrip())
        labels[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return labels


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return math.inf
    return value if math.isfinite(value) else math.inf
