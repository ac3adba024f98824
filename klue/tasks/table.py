"""Tab-separated tables with a line of names, as most of the suites beside KLUE are published."""

from __future__ import annotations

from typing import IO, Any

from klue.tasks.base import Task


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


class Table(Task):
    """A task whose files are tables; a subclass of one of the kinds of tasks, too. Its examples are numbered."""

    suffix = "tsv"

    def records(self, stream: IO[bytes]) -> list[Any]:
        """Return the rows."""
        return table_records(stream)

    def named(self, guid: str) -> str:
        """Return the name of an example: the task's, and the number of its row."""
        return f"{self.name}-{guid}"


def true_or_false(value: str) -> str:
    """Return "True" or "False" of a word that says so in any case.

    Raises:
        ValueError: it says neither.
    """
    word = value.strip().capitalize()
    if word not in ("True", "False"):
        raise ValueError(f"{value!r} is neither TRUE nor FALSE")
    return word
