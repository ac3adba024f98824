"""Tables that are printed on stdout."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

WIDTH = 72
"""Columns that a table of names and values has at least."""


def facts_table(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """Return a table of names and values.

    Args:
        title: above it.
        rows: (name, value) each.
    """
    table = Table(title=title, title_justify="left", title_style="bold", show_header=False, min_width=WIDTH)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def rows_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    """Return a table with a row of names above it; the first column is aligned left, the others right.

    Args:
        title: above it.
        columns: their names.
        rows: of as many cells.
    """
    table = Table(title=title, title_justify="left", title_style="bold")
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
