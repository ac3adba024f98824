"""The benchmark's tab-separated files (NER, DP): sentences with a head line, a row a character or a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO


@dataclass(frozen=True)
class Sentence:
    """A sentence of a tab-separated file."""

    guid: str
    text: str
    """What its head line says, markup and all."""
    rows: list[list[str]]
    """The columns of each row."""
    line: int
    """Number of its head line in the file, from 1."""
    last: bool
    """Whether it ends the file: a file that was cut short is cut in this one."""


def read_sentences(stream: IO[bytes], columns: int) -> list[Sentence]:
    """Return a file's sentences: "## guid, tab, text", then rows, then an empty line.

    Lines with ## that no row follows are comments.

    Args:
        stream: UTF-8.

    Raises:
        ValueError: a row has another number of columns, or stands before any head line.
    """
    found: list[Sentence] = []
    head: tuple[str, str, int] | None = None
    rows: list[list[str]] = []

    def close() -> None:
        if head and rows:
            found.append(Sentence(head[0], head[1], rows, head[2], False))

    for number, line in enumerate(stream.read().decode("utf-8-sig").split("\n"), start=1):
        line = line.removesuffix("\r")
        if line.startswith("##"):
            if rows:
                close()
                rows = []
            guid, _, text = line.partition("\t")
            head = guid.lstrip("#").strip(), text, number
        elif line.strip("\t"):
            row = line.split("\t")
            if len(row) != columns or head is None:
                raise ValueError(f"line {number} has {len(row)} columns where a sentence's row has {columns}")
            rows.append(row)
        elif rows:
            close()
            head, rows = None, []
    close()
    return [*found[:-1], *(Sentence(s.guid, s.text, s.rows, s.line, True) for s in found[-1:])]
