"""Parquet: blocks are ranges of rows that the workers read themselves, only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from common.errors import UserError
from common.files import COMPRESSED, is_remote, open_bytes
from data.readers.delimited import unknown_columns
from data.readers.records import Block, FieldMap, InputFile, Item
from data.readers.rows import documents_of
from data.readers.volume import content_hash

BATCH_ROWS = 1024
"""Rows held at once."""


def cut_parquet(file: InputFile, block_bytes: int) -> Iterator[Block]:
    """Yield ranges of rows of about `block_bytes`; whole row groups where they are not larger.

    Raises:
        UserError: the file is no Parquet file, is damaged, or lacks a text column.
    """
    if file.path.endswith(COMPRESSED):
        raise UserError(
            f"{file.path} is a compressed Parquet file",
            "a Parquet file is read in parts, and is compressed in itself",
            "decompress it first",
        )
    with _opened(file) as parquet:
        schema, facts = parquet.schema_arrow, parquet.metadata
        _, missing = FieldMap(file).columns(schema.names)
        if missing:
            raise unknown_columns(file, missing, schema.names)
        groups = [facts.row_group(index) for index in range(facts.num_row_groups)]
        sizes = [(group.num_rows, group.total_byte_size) for group in groups]
    fingerprint = content_hash(file.path)
    for number, (first, rows, size) in enumerate(_ranges(sizes, block_bytes)):
        reference = orjson.dumps({"first": first, "rows": rows, "file": fingerprint})
        yield Block(number, first + 1, reference, bytes=size)


def _ranges(sizes: list[tuple[int, int]], block_bytes: int) -> Iterator[tuple[int, int, int]]:
    """Yield (first row, rows, bytes) of ranges: several small row groups, or pieces of one that is large."""
    first = rows = size = 0
    for group_rows, group_size in sizes:
        if rows and size + group_size > block_bytes:
            yield first, rows, size
            first, rows, size = first + rows, 0, 0
        rows, size = rows + group_rows, size + group_size
        if size > block_bytes and rows:
            pieces = min(rows, -(-size // block_bytes))
            borders = [rows * piece // pieces for piece in range(pieces + 1)]
            for start, end in pairwise(borders):
                yield first + start, end - start, size // pieces
            first, rows, size = first + rows, 0, 0
    if rows:
        yield first, rows, size


def parse_parquet(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield the rows of a range.

    Raises:
        UserError: the file is damaged.
    """
    reference = orjson.loads(block.data)
    first, left = reference["first"], reference["rows"]
    with _opened(file) as parquet:
        columns, _ = FieldMap(file).columns(parquet.schema_arrow.names)
        groups, place = _groups(parquet.metadata, first, left)
        for batch in parquet.iter_batches(BATCH_ROWS, row_groups=groups, columns=columns):
            begin, end = max(0, first - place), min(batch.num_rows, first + left - place)
            if begin < end:
                yield from documents_of(file, batch.slice(begin, end - begin), place + begin + 1)
            place += batch.num_rows
            if place >= first + left:
                return


def _groups(facts: pq.FileMetaData, first: int, rows: int) -> tuple[list[int], int]:
    """Return the row groups that hold a range of rows, and the first row of the first of them."""
    counts = [facts.row_group(index).num_rows for index in range(facts.num_row_groups)]
    starts = list(accumulate(counts, initial=0))
    groups = [i for i, count in enumerate(counts) if starts[i] < first + rows and starts[i] + count > first]
    return groups, starts[groups[0]]


@contextmanager
def _opened(file: InputFile) -> Iterator[pq.ParquetFile]:
    stream: Any = file.path
    try:
        if is_remote(file.path):
            stream = open_bytes(file.path)
        with pq.ParquetFile(stream) as parquet:
            yield parquet
    except (pa.ArrowException, OSError) as error:
        raise UserError(
            f"{file.path} cannot be read as Parquet: {str(error).splitlines()[0]}",
            "a Parquet file is whole and readable",
            "fetch or write the file again, or take it out of the inputs",
        ) from None
