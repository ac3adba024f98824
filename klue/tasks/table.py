"""Tab-separated tables with a line of names, as most of the suites beside KLUE are published."""

from __future__ import annotations

from typing import IO


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
