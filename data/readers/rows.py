"""Rows of Arrow tables as documents: what Parquet files and data sets of the hub have in common."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from data.readers.records import FieldMap, InputFile, Item


def documents_of(file: InputFile, table: pa.Table | pa.RecordBatch, first: int) -> Iterator[Item]:
    """Yield a document or reject for each row.

    Args:
        first: number of the first row, from 1.
    """
    fields = FieldMap(file)
    names = table.schema.names
    columns = [column.to_pylist() for column in table.columns]
    for number, row in enumerate(zip(*columns, strict=True), first):
        yield fields.document(dict(zip(names, row, strict=True)), number)
