"""The benchmarks' tab-separated files: sentences with a head line (NER, DP), tables with a line of names."""

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
    """Return a file's sentences: "## guid, tab, text", then rows, a character or a word each, then an empty line.

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


def table_records(stream: IO[bytes]) -> list[dict[str, str]]:
    """Return the rows of a table by the names in its first line; quotes are text like any other.

    Args:
        stream: UTF-8, with or without a byte order mark; lines end at a line feed, which a carriage return may precede.

    Raises:
        ValueError: it has no rows, a name is there twice, or a row has another number of columns.
    """
    lines = stream.read().decode("utf-8-sig").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) < 2:
        raise ValueError("it has no rows below its line of names")
    names = lines[0].removesuffix("\r").split("\t")
    if len(set(names)) < len(names):
        raise ValueError("two of its columns have one name")
    records = []
    for number, line in enumerate(lines[1:], start=2):
        values = line.removesuffix("\r").split("\t")
        if len(values) != len(names):
            raise ValueError(f"line {number} has {len(values)} columns, the line of names {len(names)}")
        records.append(dict(zip(names, values, strict=True)))
    return records
