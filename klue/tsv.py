"""The benchmark's tab-separated files (NER, DP): sentences with a head line, a row a character or a word."""

from __future__ import annotations

from typing import IO, NamedTuple


class Sentence(NamedTuple):
    """A sentence of a tab-separated file."""

    guid: str
    text: str
    """What its head line says, markup and all."""
    rows: list[list[str]]
    """The columns of each row."""
    last: bool = False
    """Whether it ends the file: a file that was cut short is cut in this one."""


def read_sentences(stream: IO[bytes], columns: int) -> list[Sentence]:
    """Return a file's sentences: "## guid, tab, text", then rows, then an empty line.

    Lines with ## that no row follows are comments.

    Raises:
        ValueError: a row has another number of columns, or stands before any head line.
    """
    sentences: list[Sentence] = []
    head: tuple[str, str] | None = None
    for number, line in enumerate(stream.read().decode("utf-8-sig").split("\n"), start=1):
        line = line.removesuffix("\r")
        if line.startswith("##"):
            guid, _, text = line.partition("\t")
            head, begun = (guid.lstrip("#").strip(), text), False
        elif line.strip("\t"):
            row = line.split("\t")
            if len(row) != columns or head is None:
                raise ValueError(f"line {number} has {len(row)} columns where a sentence's row has {columns}")
            if not begun:
                sentences.append(Sentence(*head, []))
            sentences[-1].rows.append(row)
            begun = True
        elif head and begun:
            head = None
    return [*sentences[:-1], *(sentence._replace(last=True) for sentence in sentences[-1:])]
