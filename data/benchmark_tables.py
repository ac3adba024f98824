"""Benchmarks that are tab-separated tables with a line of names: which columns hold text, and whose they are."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """A benchmark's table, told by the names of its columns."""

    task: str
    names: frozenset[str]
    """Columns that it has, in every split."""
    texts: tuple[str, ...]
    """Columns of single sentences; those that a split lacks are passed over."""
    passage: str = ""
    """Column of running text."""


LAYOUTS = (
    Layout("kobest-boolq", frozenset({"ID", "Text", "Question", "Answer"}), ("Question",), "Text"),
    Layout("kobest-copa", frozenset({"sentence", "question", "1", "2", "Answer"}), ("sentence", "1", "2")),
    Layout(
        "kobest-hellaswag",
        frozenset({"context", "choice1", "choice2", "choice3", "choice4"}),
        ("choice1", "choice2", "choice3", "choice4"),
        "context",
    ),
    Layout("kobest-wic", frozenset({"Target", "SENTENCE1", "SENTENCE2", "ANSWER"}), ("SENTENCE1", "SENTENCE2")),
    Layout("kobest-sentineg", frozenset({"ID", "Text", "Label"}), ("Text", "Text_origin")),
    Layout("korsts", frozenset({"genre", "score", "sentence1", "sentence2"}), ("sentence1", "sentence2")),
    Layout("kornli", frozenset({"sentence1", "sentence2", "gold_label"}), ("sentence1", "sentence2")),
    Layout("paws-x", frozenset({"id", "sentence1", "sentence2", "label"}), ("sentence1", "sentence2")),
    Layout("question-pair", frozenset({"question1", "question2", "is_duplicate"}), ("question1", "question2")),
    Layout("hate-speech", frozenset({"title", "comment", "bias", "hate"}), ("title", "comment")),
    Layout("nsmc", frozenset({"id", "document", "label"}), ("document",)),
)
"""Tried in this order."""
MISSING = "NS"
"""What PAWS-X has where a translation is missing."""
_SENSE_MARK = re.compile(r"\[([^\[\]]+)\]")


def layout_of(text: str) -> Layout | None:
    """Return the layout of a table by its first line, or None when that has the names of none."""
    names = text.partition("\n")[0].removesuffix("\r").split("\t")
    return next((layout for layout in LAYOUTS if layout.names <= set(names)), None)


def table_rows(text: str, layout: Layout) -> list[tuple[list[str], str]]:
    """Return the single sentences and the passage of each row, "" for no passage; quotes are text like any other.

    Raises:
        ValueError: a row has another number of columns than the line of names.
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    names = lines[0].split("\t")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        values = line.split("\t")
        if len(values) != len(names):
            raise ValueError(f"line {number} has {len(values)} columns, the line of names {len(names)}")
        row = dict(zip(names, values, strict=True))
        texts = [row[name] for name in layout.texts if name in row and row[name].strip() not in ("", MISSING)]
        if layout.task == "kobest-wic":
            texts = [_SENSE_MARK.sub(r"\1", sentence) for sentence in texts]
        rows.append((texts, row[layout.passage] if layout.passage else ""))
    return rows
