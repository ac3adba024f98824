"""Parquet files that others have written, read whole and within bounds.

A file of 2 MB may stand for 3 GB of texts, each row for one of a dictionary, or for a billion zeros: it ends in a
message, not in a killed process.
"""

from __future__ import annotations

from itertools import chain
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from common.bounded import MOST_VALUES, TOO_MANY, UnreadableError
from common.compressed import EXPANDS, FREE_BYTES, MAX_EXPANSION

FEW_ROWS = 64
"""Rows decoded before they are counted: one of them may stand for a text of any length."""


def parquet_rows(stream: IO[bytes]) -> tuple[list[dict[str, Any]], pa.Schema]:
    """Return the rows of a Parquet file, and its schema.

    Raises:
        UnreadableError: it is damaged, holds text that is no UTF-8, or expands too far.
    """
    content = stream.read()
    most_bytes = max(FREE_BYTES, MAX_EXPANSION * len(content))
    most_values = max(MOST_VALUES, len(content))
    rows: list[dict[str, Any]] = []
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as parquet:
            schema, facts = parquet.schema_arrow, parquet.metadata
            leaves = [parquet.schema.column(number) for number in range(len(parquet.schema))]
            texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
            chunks = [
                (facts.row_group(group).column(number), leaf.length)  # bytes of a value of a fixed length, else 0 or −1
                for group in range(facts.num_row_groups)
                for number, leaf in enumerate(leaves)
            ]
            stored = sum(max(chunk.total_uncompressed_size, chunk.num_values * length) for chunk, length in chunks)
            if facts.num_rows > most_values or stored > most_bytes:
                raise UnreadableError(EXPANDS)
            if sum(chunk.num_values for chunk, _ in chunks) > most_values:
                raise UnreadableError(TOO_MANY)
        with pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts) as parquet:  # each text is held once
            groups = range(facts.num_row_groups)  # one by one: a batch of two is none for dictionaries within lists
            for batch in chain.from_iterable(parquet.iter_batches(FEW_ROWS, row_groups=[group]) for group in groups):
                most_bytes -= sum(map(text_bytes, batch.columns))
                most_values -= sum(map(_values_in, batch.columns))
                if most_bytes < 0 or most_values < 0:
                    raise UnreadableError(EXPANDS if most_bytes < 0 else TOO_MANY)
                rows += batch.to_pylist()
    except UnicodeDecodeError:
        raise UnreadableError("it holds text that is no UTF-8") from None
    except (pa.ArrowException, OSError) as error:
        raise UnreadableError(f"it is no whole Parquet file ({error})") from None
    return rows, schema


def _values_in(column: pa.Array) -> int:
    if not pa.types.is_nested(column.type):
        return len(column)
    inner = column.flatten()
    return len(column) + sum(map(_values_in, inner if isinstance(inner, list) else [inner]))


def text_bytes(chunk: pa.Array) -> int:
    """Return how many bytes the texts in an array have, each as often as it stands there."""
    if pa.types.is_dictionary(chunk.type) and not pa.types.is_primitive(chunk.type.value_type):
        return int(pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0)
    if pa.types.is_nested(chunk.type):
        inner = chunk.flatten()
        return sum(map(text_bytes, inner if isinstance(inner, list) else [inner]))
    return 0
