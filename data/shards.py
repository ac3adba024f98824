"""Text shards: Parquet files of documents with their sentences, written in input order, read back as batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from common.errors import HunminError, UserError
from common.files import atomic_write

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("source", pa.string()),
        pa.field("licence", pa.string()),
        pa.field("sentences", pa.list_(pa.string())),
    ]
)
SHARDS = "shards"
ROW_GROUP_BYTES = 16 << 20
"""Text in a row group, about; the unit in which a shard is read back."""


def shard_name(index: int) -> str:
    """Return the file name of the shard with this number."""
    return f"shard-{index:05d}.parquet"


def shard_paths(folder: str | Path) -> list[Path]:
    """Return the shards of a corpus folder, in order.

    Raises:
        UserError: the folder holds none.
    """
    found = sorted((Path(folder) / SHARDS).glob("shard-*.parquet"))
    if not found:
        raise UserError(
            f"{folder} holds no text shards", f"a corpus folder has {SHARDS}/shard-*.parquet", "run the corpus stage"
        )
    return found


def read_shards(folder: str | Path, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of all shards of a corpus folder, in input order.

    Args:
        folder: a finished corpus folder.
        columns: some of id, source, licence, sentences; None reads all.

    Raises:
        UserError: the folder holds no shards.
        HunminError: a shard is damaged.
    """
    for path in shard_paths(folder):
        yield from read_shard(path, columns)


def read_shard(path: Path, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of one shard.

    Raises:
        HunminError: the file is damaged.
    """
    try:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                yield from file.read_row_group(group, columns=columns, use_threads=False).to_batches()
    except (pa.ArrowInvalid, OSError) as error:
        raise HunminError(
            f"cannot read {path}: {error}", "a shard is a whole Parquet file", "delete the corpus folder and run again"
        ) from None


def write_table(path: Path, table: pa.Table, rows: int, level: int) -> None:
    """Write a table as Parquet (zstd) atomically.

    Args:
        path: the file.
        table: what to write.
        rows: rows in a row group, >= 1.
        level: zstd level.
    """
    with atomic_write(path, "wb") as stream:
        pq.write_table(table, stream, compression="zstd", compression_level=level, row_group_size=rows)


def write_shard(path: Path, table: pa.Table) -> None:
    """Write a table with the columns of `SCHEMA` as a shard, atomically, in row groups of about 16 MB of text."""
    size = max(table.nbytes, 1)
    rows = max(1, table.num_rows * ROW_GROUP_BYTES // size) if table.num_rows else 1
    write_table(path, table.select(SCHEMA.names).cast(SCHEMA), rows, level=3)


def drop_sentences(table: pa.Table, keep: np.ndarray) -> pa.Table:
    """Return `table` without the sentences that `keep` denies, and without documents that lose all of theirs.

    Args:
        table: columns of `SCHEMA`.
        keep: bool [sentences of all rows, in order].
    """
    lists = table.column("sentences").combine_chunks()
    offsets = lists.offsets.to_numpy()
    kept = np.concatenate(([0], np.cumsum(keep)))[offsets - offsets[0]]
    values = lists.flatten().filter(pa.array(keep))
    column = pa.ListArray.from_arrays(pa.array(kept.astype(np.int32)), values)
    table = table.set_column(table.schema.get_field_index("sentences"), "sentences", column)
    return table.filter(pa.array(np.diff(kept) > 0))
