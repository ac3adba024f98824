"""Parquet: blocks are ranges of row groups that the workers read themselves, only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from common.errors import UserError
from common.files import COMPRESSED, is_remote, open_bytes
from data.readers.damage import DamagedInputError, UnfitInputError
from data.readers.delimited import unknown_columns
from data.readers.records import Block, FieldMap, InputFile, Item
from data.readers.rows import documents_of
from data.readers.transport import Transport, reason_of
from data.readers.volume import fingerprint

BATCH_ROWS, BATCH_BYTES = 1024, 64_000_000
"""Rows held at once, and about how many bytes of them at most."""


def cut_parquet(file: InputFile, block_bytes: int) -> Iterator[Block]:
    """Yield ranges of row groups of about `block_bytes`; a larger row group is a block of its own.

    Raises:
        DamagedInputError: the file is no Parquet file, or damaged.
        UnfitInputError: it is compressed, or lacks a text column.
        ReadFailedError: the connection failed.
    """
    if file.path.endswith(COMPRESSED):
        raise UnfitInputError(
            file.path,
            "is a compressed Parquet file",
            "decompress it first",
            "a Parquet file is read in parts, and is compressed in itself",
        )
    with _opened(file) as parquet:
        schema, facts = parquet.schema_arrow, parquet.metadata
        _, missing = FieldMap(file).columns(schema.names)
        if missing:
            raise unknown_columns(file, missing, schema.names)
        groups = [facts.row_group(index) for index in range(facts.num_row_groups)]
        sizes = [(group.num_rows, group.total_byte_size) for group in groups]
    version = fingerprint(file.path)
    for number, (span, first, size) in enumerate(_ranges(sizes, block_bytes)):
        reference = {"groups": [span.start, span.stop], "first": first, "file": version}
        yield Block(number, first + 1, orjson.dumps(reference), bytes=size)


def _ranges(sizes: list[tuple[int, int]], block_bytes: int) -> Iterator[tuple[range, int, int]]:
    """Yield (row groups, first row, bytes) of blocks: several small row groups, or one that is large.

    A row group can only be read from its beginning: in pieces it would be decoded as often as it has pieces.
    """
    begin = first = rows = size = 0
    for index, (group_rows, group_size) in enumerate(sizes):
        if rows and size + group_size > block_bytes:
            yield range(begin, index), first, size
            begin, first, rows, size = index, first + rows, 0, 0
        rows, size = rows + group_rows, size + group_size
    if rows:
        yield range(begin, len(sizes)), first, size


def parse_parquet(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield the rows of a range of row groups.

    Raises:
        DamagedInputError: the file is damaged.
    """
    reference = orjson.loads(block.data)
    number = reference["first"] + 1
    with _opened(file) as parquet:
        columns, _ = FieldMap(file).columns(parquet.schema_arrow.names)
        for group in range(*reference["groups"]):  # one by one: a damaged one takes no row of those before it
            for batch in parquet.iter_batches(_rows_at_once(parquet, group), row_groups=[group], columns=columns):
                yield from documents_of(file, batch, number)
                number += batch.num_rows


def _rows_at_once(parquet: pq.ParquetFile, group: int) -> int:
    facts = parquet.metadata.row_group(group)
    return max(1, min(BATCH_ROWS, BATCH_BYTES * facts.num_rows // max(1, facts.total_byte_size)))


@contextmanager
def _opened(file: InputFile) -> Iterator[pq.ParquetFile]:
    stream: Any = file.path
    try:
        if is_remote(file.path):
            stream = Transport(file.path, open_bytes(file.path))
        with pq.ParquetFile(stream) as parquet:
            yield parquet
    except (pa.ArrowException, OSError) as error:
        # of the content Arrow itself says what is wrong, without a number of the system
        if isinstance(error, OSError) and (error.errno is not None or type(error) is not OSError):
            raise UserError(f"cannot read {file.path}: {reason_of(error)}", "inputs are readable files") from None
        raise DamagedInputError(file.path, f"cannot be read as Parquet: {reason_of(error)}") from None
