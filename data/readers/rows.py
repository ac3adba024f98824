"""Rows of Arrow tables as documents: what Parquet files and data sets of the hub have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from data.readers.encoding import UNDECODABLE
from data.readers.records import FieldMap, InputFile, Item


def documents_of(file: InputFile, table: pa.Table | pa.RecordBatch, first: int) -> Iterator[Item]:
    """Yield a document or reject for each row.

    Args:
        first: number of the first row, from 1.
    """
    fields = FieldMap(file)
    names = table.schema.names
    columns = [_values(column) for column in table.columns]
    for number, row in enumerate(zip(*columns, strict=True), first):
        yield fields.document(dict(zip(names, row, strict=True)), number)


def _values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Return a column's values; `UNDECODABLE` for strings that are no UTF-8, which Arrow does not look for."""
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        return [_value(scalar) for scalar in column]


def _value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return UNDECODABLE
