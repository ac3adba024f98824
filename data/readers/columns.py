"""Columns of tables: which of them a source's settings need."""

from __future__ import annotations

import re
from collections.abc import Sequence

from common.errors import nearest
from data.readers.damage import UnfitInputError
from data.readers.fields import FieldMap
from data.readers.records import InputFile

_COLUMN = re.compile(r"(?:[^\W\d][\w .:()/-]{0,39})?")
"""A column's name; data frames are saved with a column of row numbers that has none."""


def needed_columns(file: InputFile, columns: list[str]) -> list[str]:
    """Return the columns of a table that are needed.

    Raises:
        UnfitInputError: it lacks a text column, or has several of a name that is needed: only one would be read.
    """
    needed, missing = FieldMap(file).columns(columns)
    if missing:
        raise unknown_columns(file, missing, columns)
    if twice := [name for name in needed if columns.count(name) > 1]:
        raise UnfitInputError(
            file.path,
            f"has {columns.count(twice[0])} columns '{twice[0]}'",
            "rename the columns of the table, or set the source's text_field to another",
            "each column that is read has a name of its own",
        )
    return needed


def unknown_columns(
    file: InputFile, missing: list[str], columns: list[str], arrays: Sequence[str] = ()
) -> UnfitInputError:
    """Return the error of a table without the columns asked for.

    It names the columns only where they look like names: the first row of a table without any is data.

    Args:
        arrays: of a file of one object, its fields that hold arrays of objects, which may be the records meant.
    """
    named = _are_names(columns)
    bounded = missing[0] in file.settings.columns
    shown = f"the file's columns are {', '.join(columns[:20])}"
    hidden = f"what stands in their place does not look like column names ({len(columns)} columns)"
    fix = (
        "add a row with column names"
        if not named
        else "bound one of them in the source's columns"
        if bounded
        else "set the source's text_field to one of them (or a list of them)"
    )
    if named and arrays:
        fix += f"; where the records are in its array '{arrays[0]}', set the source's records_field to '{arrays[0]}'"
    error = UnfitInputError(
        file.path,
        f"has no column '{missing[0]}'{nearest(missing[0], columns) if named else ''}",
        fix,
        f"{'columns names numbers' if bounded else 'text_field names the column with the documents'}"
        f"; {shown if named else hidden}",
    )
    if named:
        error.columns, error.arrays = columns, arrays
    return error


def _are_names(columns: list[str]) -> bool:
    from data.pii.detect import find_many

    return all(map(_COLUMN.fullmatch, columns)) and not any(find_many([*columns, ", ".join(columns)]))
