"""Rows of Arrow tables as documents: what Parquet files and data sets of the hub have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import pyarrow as pa

from common.parquet import text_bytes
from data.readers import records
from data.readers.encoding import UNDECODABLE
from data.readers.fields import FieldMap
from data.readers.records import InputFile, Item, too_long

_TOO_LONG = object()
"""Stands for a value that is longer than a record may be."""


def documents_of(file: InputFile, table: pa.Table | pa.RecordBatch, first: int) -> Iterator[Item]:
    """Yield a document or reject for each row; `first` is the number of the first, from 1."""
    fields = FieldMap(file)
    names = table.schema.names
    columns = [_values(column) for column in table.columns]
    for number, row in enumerate(zip(*columns, strict=True), first):
        if _TOO_LONG in row:
            yield too_long(number)
        else:
            yield from fields.items(dict(zip(names, row, strict=True)), number)


def _values(column: pa.ChunkedArray | pa.Array) -> Iterable[Any]:
    """Return a column's values; `UNDECODABLE` for strings that are no UTF-8, which Arrow does not look for."""
    if isinstance(column, pa.ChunkedArray):
        return chain.from_iterable(map(_values, column.chunks))
    if pa.types.is_dictionary(column.type):
        return _looked_up(column)
    if _holds_dictionary(column.type) and text_bytes(column) > records.MAX_RECORD_BYTES:
        return map(_value, _short(column))
    return _listed(column)


def _listed(chunk: pa.Array) -> list[Any]:
    try:
        return list(chunk.to_pylist())
    except UnicodeDecodeError:
        return [_value(scalar) for scalar in chunk]


def _looked_up(chunk: pa.DictionaryArray) -> Iterator[Any]:
    known: dict[int | None, Any] = {None: None}
    for index in chunk.indices.to_pylist():
        if index not in known:
            known[index] = _value(chunk.dictionary[index])
        yield known[index]


def _short(chunk: pa.Array) -> Iterator[Any]:
    """Yield the rows of lists and structures of dictionaries; a row of few bytes may stand for a text without end."""
    for row in range(len(chunk)):
        yield chunk[row] if text_bytes(chunk.slice(row, 1)) <= records.MAX_RECORD_BYTES else _TOO_LONG


def _holds_dictionary(type: pa.DataType) -> bool:
    if pa.types.is_dictionary(type):
        return True
    return any(_holds_dictionary(type.field(index).type) for index in range(type.num_fields))


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py() if isinstance(scalar, pa.Scalar) else scalar
    except UnicodeDecodeError:
        return UNDECODABLE
