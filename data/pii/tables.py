"""Cells of a table below a header: columns of Markdown, of tabs, of commas, of blanks, and one cell a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_DELIMITERS = {
    re.compile(r" *\| *"): "|",
    re.compile(r" *\t+ *"): "\t",
    re.compile(r" */ +| +/ *"): "/",
    re.compile(r" *, *"): ",",
    re.compile(r" {2,}"): ("  ",),
    re.compile(r" *[·;] *"): "·;",
}
"""In the order in which they are tried, each with the signs that it holds one of."""
_RULE = re.compile(r"[ |:=+\-─━┼]*")
"""A line between header and rows."""
_ROWS = 2000
"""Lines below a header that are looked at."""

Cell = tuple[int, int]


class Below(NamedTuple):
    """A cell below a header: its extent, and whether the columns are known, so that it is the header's own."""

    start: int
    end: int
    own: bool


def cells_below(text: str, start: int, end: int, header: re.Pattern[str]) -> Iterator[Below]:
    """Yield the cells below the header in the line text[start:end], to the next empty line or the next such header.

    Where rows are divided as the header is, only the cells of its columns; else all, `own` being False.
    """
    cells, delimiter = _cells(text, start, end)
    columns = [i for i, (first, last) in enumerate(cells) if header.fullmatch(text, first, last)]
    if not columns:
        return
    begin = end + 1
    for _ in range(_ROWS):
        stop = text.find("\n", begin)
        stop = len(text) if stop < 0 else stop
        row, row_delimiter = _cells(text, begin, stop, delimiter)
        if not row:
            return
        if _RULE.fullmatch(text, begin, stop) is None:
            if any(header.fullmatch(text, first, last) for first, last in row):
                return
            if delimiter is not None and row_delimiter is delimiter and len(row) == len(cells):
                yield from (Below(*row[column], True) for column in columns)
            else:
                yield from (Below(first, last, False) for first, last in row)
        begin = stop + 1
        if begin >= len(text):
            return


def _cells(
    text: str, start: int, end: int, delimiter: re.Pattern[str] | None = None
) -> tuple[list[Cell], re.Pattern[str] | None]:
    first, last = start, end
    while first < last and text[first] in " \t|\r":
        first += 1
    while last > first and text[last - 1] in " \t|\r":
        last -= 1
    if first == last:
        return [], None
    for pattern in (*([delimiter] if delimiter else []), *_DELIMITERS):
        if not any(text.find(sign, first, last) >= 0 for sign in _DELIMITERS[pattern]):
            continue
        gaps = [match.span() for match in pattern.finditer(text, first, last)]
        if gaps:
            edges = [first, *(edge for gap in gaps for edge in gap), last]
            return list(zip(edges[::2], edges[1::2], strict=True)), pattern
    return [(first, last)], None
