"""Parquet: blocks are ranges of row groups that the workers read themselves, only the columns that are needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from common.compressed import EXPANDS, FREE_BYTES, MAX_EXPANSION, compression_of
from common.errors import UserError
from common.files import is_remote, open_bytes
from data.readers.columns import needed_columns
from data.readers.damage import DamagedInputError, UnfitInputError
from data.readers.fields import FieldMap
from data.readers.records import Block, InputFile, Item
from data.readers.rows import documents_of
from data.readers.transport import Transport, reason_of
from data.readers.volume import fingerprint, refuse_changed

BATCH_ROWS, BATCH_BYTES = 1024, 64_000_000
"""Rows held at once, and about how many bytes of them at most."""


def cut_parquet(file: InputFile, block_bytes: int) -> Iterator[Block]:
    """Yield ranges of row groups of about `block_bytes`; a larger row group is a block of its own.

    Raises:
        DamagedInputError: the file is no Parquet file, or damaged.
        UnfitInputError: it is compressed, or lacks a text column.
        ReadFailedError: the connection failed.
    """
    if compression_of(file.path):
        raise UnfitInputError(
            file.path,
            "is a compressed Parquet file",
            "decompress it first",
            "a Parquet file is read in parts, and is compressed in itself",
        )
    version = fingerprint(file.path)
    with _opened(file) as (parquet, _):
        schema = parquet.schema_arrow
        facts = parquet.metadata
        needed = needed_columns(file, schema.names)
        groups = [facts.row_group(index) for index in range(facts.num_row_groups)]
        for group in groups:
            for text in _texts_of(group, needed):
                if text.total_uncompressed_size > max(FREE_BYTES, MAX_EXPANSION * text.total_compressed_size):
                    raise DamagedInputError(file.path, EXPANDS)
        sizes = [(group.num_rows, group.total_byte_size) for group in groups]
    for number, (span, first, size) in enumerate(_ranges(sizes, block_bytes)):
        reference = {"groups": [span.start, span.stop], "first": first, "file": version}
        yield Block(number, first + 1, orjson.dumps(reference), bytes=size)


def _ranges(sizes: list[tuple[int, int]], block_bytes: int) -> Iterator[tuple[range, int, int]]:
    """Yield (row groups, first row, bytes) of blocks; a row group is only readable from its start, so none is cut."""
    begin = first = rows = size = 0
    for index, (group_rows, group_size) in enumerate(sizes):
        if rows and size + group_size > block_bytes:
            yield range(begin, index), first, size
            begin = index
            first = first + rows
            rows = 0
            size = 0
        rows, size = rows + group_rows, size + group_size
    if rows:
        yield range(begin, len(sizes)), first, size


def parse_parquet(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield the rows of a range of row groups.

    Raises:
        DamagedInputError: the file is damaged.
        HunminError: it has changed since it was cut.
    """
    reference = orjson.loads(block.data)
    number = reference["first"] + 1
    with _opened(file) as (parquet, stream):
        columns, _ = FieldMap(file).columns(parquet.schema_arrow.names)
        for group in range(*reference["groups"]):  # one by one: a damaged one takes no row of those before it
            rows = _rows_at_once(parquet.metadata.row_group(group), columns, stream)
            for batch in parquet.iter_batches(rows, row_groups=[group], columns=columns):
                yield from documents_of(file, batch, number)
                number += batch.num_rows
    refuse_changed(file.path, reference["file"])


def _rows_at_once(facts: pq.RowGroupMetaData, columns: list[str], stream: IO[bytes]) -> int:
    """Return how many rows of a row group are held at once: few where each may be a long text of a dictionary."""
    mean = max(1, facts.total_byte_size // max(1, facts.num_rows))
    longest = max([1, *(_dictionary_bytes(chunk, stream) for chunk in _texts_of(facts, columns))])
    return max(1, min(BATCH_ROWS, BATCH_BYTES // mean, FREE_BYTES // longest))


def _texts_of(facts: pq.RowGroupMetaData, columns: list[str]) -> list[pq.ColumnChunkMetaData]:
    chunks = [facts.column(index) for index in range(facts.num_columns)]
    within = tuple(f"{name}." for name in columns)
    return [c for c in chunks if c.physical_type == "BYTE_ARRAY" and f"{c.path_in_schema}.".startswith(within)]


_PAGE_HEADER = re.compile(rb"\x15([\x80-\xff]*[\0-\x7f])" * 2, re.DOTALL)
"""A page's kind and its size unpacked, the first fields of its header (Thrift's compact protocol)."""
_DICTIONARY_PAGE = b"\x04"


def _dictionary_bytes(chunk: pq.ColumnChunkMetaData, stream: IO[bytes]) -> int:
    """Return the unpacked bytes of a column chunk's dictionary, 0 for none: each row may stand for all of it."""
    stream.seek(chunk.dictionary_page_offset or chunk.data_page_offset)
    header = _PAGE_HEADER.match(stream.read(16))
    if header is None or header[1] != _DICTIONARY_PAGE:
        return 0
    return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(header[2])) >> 1


@contextmanager
def _opened(file: InputFile) -> Iterator[tuple[pq.ParquetFile, IO[bytes]]]:
    """Open a file, and return it with the stream of its bytes; texts in lists are dictionaries that hold each once."""
    try:
        stream = open_bytes(file.path, Transport)
        source: Any = stream if is_remote(file.path) else file.path
        with stream, pq.ParquetFile(source) as parquet:
            leaves = [parquet.schema.column(index) for index in range(len(parquet.schema))]
            folded = [leaf.path for leaf in leaves if leaf.max_repetition_level and leaf.physical_type == "BYTE_ARRAY"]
            with pq.ParquetFile(source, metadata=parquet.metadata, read_dictionary=folded) as opened:
                yield opened, stream
    except (pa.ArrowException, OSError) as error:
        # of the content Arrow itself says what is wrong, without a number of the system
        if isinstance(error, OSError) and (error.errno is not None or type(error) is not OSError):
            raise UserError(f"cannot read {file.path}: {reason_of(error)}", "inputs are readable files") from None
        raise DamagedInputError(file.path, f"cannot be read as Parquet: {reason_of(error)}") from None
