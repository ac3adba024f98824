"""What a user's own tasks share: records of their files, labels that are found in them, what must be said of these."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from common.compressed import decompression_errors
from common.errors import UserError, nearest
from common.files import open_bytes
from common.message import Message
from data.nfc import composed
from klue.tasks.base import Example, Task
from klue.tasks.fields import value_at
from klue.tasks.own_files import form_of, read_rows
from klue.tasks.own_row import OwnTask

MOST_LABELS = 1000
"""More different labels than this are taken for texts or numbers."""
SHOWN_LABELS = 10
"""Labels that a message lists at most."""
LACKS = "train has no example of {labels}, as {split} has: a model cannot predict it"
UNSEEN = "{split} has no example of {labels}: the scores say nothing of it"
MIXED = "{count:text} with different labels"


class OwnFiles(Task):
    """What a user's tasks of every kind share: their files, labels that are found in them, a dev set drawn by text."""

    row: OwnTask
    fix = "fix the file, or the task's row"
    guid_column = "guid"

    def file(self, split: str) -> str | None:
        return self.row.places[split] or None

    def records_of(self, stream: IO[bytes], path: Path, labelled: bool = True) -> list[Any]:
        """Return the records of a file, each with a guid: task, file and row. Those without a text or a label are left
        out and counted, where they are to be `labelled`."""
        rows = read_rows(stream, form_of(path), self.row.kind == "tagging")
        for name in [*self.text_columns, *(self.label_columns if labelled else ())]:
            if rows and not any(name.split(".")[0] in row or name in row for row in rows):
                columns = list(dict.fromkeys(name for row in rows[:SHOWN_LABELS] for name in row))
                raise ValueError(f"no column '{name}'{nearest(name, columns)}; there are {', '.join(columns[:20])}")
        stem = path.name.split(".")[0]
        records = [
            {**row, "guid": str(row.get(self.guid_column) or f"{self.name}-{stem}-{number}")}
            for number, row in enumerate(rows, start=1)
        ]
        if not labelled:
            return records
        whole = [record for record in records if not any(is_empty(record, name) for name in self.required)]
        whole_guids = {record["guid"] for record in whole}
        self.set_aside[str(path)] = [record["guid"] for record in records if record["guid"] not in whole_guids]
        if records and not whole:
            raise ValueError(f"none of its {len(records):,} records has {' and '.join(self.required)}")
        return whole

    @cached_property
    def set_aside(self) -> dict[str, list[str]]:  # type: ignore[override]
        """Return file → guids of records without a text or a label; they are left out."""
        return {}

    @property
    def label_columns(self) -> list[str]:
        """Return the fields with labels that a file must have."""
        return [] if self.row.kind in ("tagging", "reading") else self.row.label

    @property
    def required(self) -> list[str]:
        """Return the fields without which a record says nothing."""
        return [*self.text_columns, *self.label_columns]

    def values(self, record: Any) -> Iterable[str]:
        """Return the labels that a record names."""
        return [as_label(value_at(record, self.row.label[0]))]

    def classes(self, example: Example) -> Iterable[str]:
        """Return the labels that an example is counted under."""
        return [example.label] if self.row.family == "classification" else ()

    @cached_property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return the labels of the row, else those of its files, numbers by size. Raises UserError for fewer than two
        or more than `MOST_LABELS`."""
        if self.row.labels:
            return tuple(map(composed, self.row.labels))
        labels: set[str] = set()
        for path in filter(None, self.row.places.values()):
            where = path
            try:
                with decompression_errors(path), open_bytes(path) as stream:
                    records = self.records_of(stream, Path(path))
                for record in records:
                    where = f"{path}, {record['guid']}"
                    labels.update(self.values(record))
            except (ValueError, KeyError, TypeError) as error:
                raise UserError(f"{where}: {error}", self.rule, self.fix) from None
        if not 2 <= len(labels) <= MOST_LABELS:
            raise UserError(
                f"{self.name}: {len(labels):,} different labels in {', '.join(self.row.label)}: {listed(labels)}",
                f"a task of kind {self.row.kind} has 2 to {MOST_LABELS:,}",
                "name the column of labels (label), or the kind: regression has numbers",
            )
        return tuple(sorted(labels, key=lambda label: (_number(label), label)))

    def remarks(self, splits: Mapping[str, Sequence[Example]]) -> list[Message]:
        """Return what of the labels in train, dev and test must be said where the scores stand: a label that a split
        lacks, a text that has several."""
        have = {split: {c for example in part for c in self.classes(example)} for split, part in splits.items()}
        labels: dict[str, set[str]] = {}
        for example in (example for part in splits.values() for example in part):
            labels.setdefault(self.split_key(example), set()).add(repr(example.label))
        mixed = sum(len(of_text) > 1 for of_text in labels.values()) if self.head != "span" else 0
        differences = [
            *((LACKS, split, have[split] - have["train"]) for split in have),
            (UNSEEN, self.scored_split, have["train"] - have[self.scored_split]),
        ]
        lacking = [Message(text, split=split, labels=listed(some)) for text, split, some in differences if some]
        return [*lacking, *([Message(MIXED, count=mixed)] if mixed else [])]

    def split_key(self, example: Example) -> str:
        return "\t".join(" ".join(composed(text).split()) for text in example.texts)

    @property
    def rule(self) -> str:
        return f"a record of {self.name} ({self.row.kind}) has {', '.join(self.required or ['text', 'label'])}"

    def shortfalls(self, counts: Mapping[str, int]) -> list[Message]:
        return []

    @property
    def scored_split(self) -> str:
        return "test" if self.row.test else "dev"


def as_label(value: Any) -> str:
    """Return what a field says as a label: 1 of 1.0, which a column of whole numbers with gaps is read as."""
    return composed(str(int(value) if isinstance(value, float) and value.is_integer() else value)).strip()


def is_empty(record: Any, way: str) -> bool:
    """Return whether a field holds nothing: it is missing, null, or white space."""
    try:
        value = value_at(record, way)
    except (KeyError, TypeError):
        return True
    return value is None or (isinstance(value, str) and not value.strip()) or value != value  # nan


def listed(labels: Iterable[str]) -> str:
    """Return some labels for a message, the first `SHOWN_LABELS` of many."""
    ordered = sorted(labels)
    return ", ".join(ordered[:SHOWN_LABELS]) + (" …" if len(ordered) > SHOWN_LABELS else "")


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return math.inf
    return value if math.isfinite(value) else math.inf
