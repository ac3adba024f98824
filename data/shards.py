"""Text shards: Parquet files of documents with their sentences, written in input order, read back as batches.

A document's text is its sentences: joined by spaces they give it back, but for what the stage took out and for the
white space between them. Beside each shard lies its manifest, `shard-00000.json`: file, sha256, file_bytes, what the
shard holds and, where a mixture says other than once, how often its documents come in a pass (`copies`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from common.errors import HunminError, UserError
from common.files import atomic_write, read_bytes, sha256_file

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("source", pa.string()),
        pa.field("licence", pa.string()),
        pa.field("sentences", pa.list_(pa.string())),
    ]
)
SHARDS = "shards"
COPIES = "copies"
"""In manifests of shards: how often their documents come in a pass over the corpus, 1 unless it says so; 0: held out of
training."""
ROW_GROUP_BYTES = 16 << 20
"""Text in a row group: it ends with the document that fills it. The unit in which a shard is written and read."""


def shard_name(index: int) -> str:
    """Return the file name of the shard with this number."""
    return f"shard-{index:05d}.parquet"


def shard_paths(folder: str | Path) -> list[Path]:
    """Return the shards of a corpus folder, in order; UserError where it holds none."""
    paths = sorted((Path(folder) / SHARDS).glob("shard-*.parquet"))
    if not paths:
        raise UserError(
            f"{folder} holds no text shards", f"a corpus folder has {SHARDS}/shard-*.parquet", "run the corpus stage"
        )
    return paths


def read_shards(folder: str | Path, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of all shards of a corpus folder, in input order.

    Raises:
        UserError: the folder holds no shards.
        HunminError: a shard is damaged.
    """
    for path in shard_paths(folder):
        yield from read_shard(path, columns)


def row_groups(path: Path) -> int:
    """Return how many row groups of about `ROW_GROUP_BYTES` of text a shard has; HunminError where it is damaged."""
    with _reading(path):
        return int(pq.read_metadata(path).num_row_groups)


def read_shard(path: Path, columns: list[str] | None = None, groups: range | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of one shard; HunminError where it is damaged."""
    with _reading(path), pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups) if groups is None else groups:
            yield from file.read_row_group(group, columns=columns, use_threads=False).to_batches()


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowInvalid, OSError) as error:
        raise HunminError(
            f"cannot read {path}: {error}", "a shard is a whole Parquet file", "delete the corpus folder and run again"
        ) from None


def read_columns(path: Path, columns: list[str]) -> pa.Table:
    """Return columns of a Parquet file, read in this thread."""
    with pq.ParquetFile(path) as file:  # pq.read_table goes a longer way, and imports pyarrow.dataset for it
        return file.read(columns, use_threads=False)


def read_numbers(path: Path, column: str) -> np.ndarray:
    """Return a column of numbers, none of them missing, of a Parquet file."""
    numbers = read_columns(path, [column]).column(column).combine_chunks()
    return np.from_dlpack(numbers)  # numbers.to_numpy() imports pandas


def write_table(path: Path, table: pa.Table, rows: int, level: int) -> None:
    """Write a table as Parquet (zstd) atomically."""
    with atomic_write(path, "wb") as stream:
        pq.write_table(table, stream, compression="zstd", compression_level=level, row_group_size=rows)


def write_shard(path: Path, tables: Iterable[pa.Table], schema: pa.Schema = SCHEMA) -> None:
    """Write tables with the columns of a schema as one shard, atomically, holding a row group at a time in memory.

    The bytes depend on the rows alone, not on how they are cut into tables.

    Args:
        tables: its documents, in order, in any pieces; null lists do not occur.
        schema: `SCHEMA`, or more columns after those.
    """
    with atomic_write(path, "wb") as stream:
        writer = pq.ParquetWriter(stream, schema, compression="zstd", compression_level=3)
        with writer:
            for group in _row_groups(tables, schema):
                writer.write_table(group, row_group_size=group.num_rows)


def _row_groups(tables: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows in groups of at least `ROW_GROUP_BYTES` of text, but for the last, each in one chunk."""
    pending: list[pa.Table] = []
    filled = 0
    for table in tables:
        table = table.select(schema.names).cast(schema).combine_chunks()
        ends = np.cumsum(_text_bytes(table))
        start, before = 0, 0
        while len(ends) and filled + int(ends[-1]) - before >= ROW_GROUP_BYTES:
            stop = int(np.searchsorted(ends, ROW_GROUP_BYTES - filled + before)) + 1
            yield pa.concat_tables([*pending, table.slice(start, stop - start)]).combine_chunks()
            pending, filled = [], 0
            start, before = stop, int(ends[stop - 1])
        if start < table.num_rows:
            pending.append(table.slice(start))
            filled += int(ends[-1]) - before
    if pending:
        yield pa.concat_tables(pending).combine_chunks()


def _text_bytes(table: pa.Table) -> np.ndarray:
    if table.num_rows == 0:
        return np.zeros(0, np.int64)
    lists = table.column("sentences").combine_chunks()
    sizes = pc.binary_length(lists.flatten()).to_numpy(zero_copy_only=False)
    offsets = lists.offsets.to_numpy()
    return np.diff(np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))[offsets - offsets[0]])


def manifest_path(shard: Path) -> Path:
    """Return where the manifest of a shard stands."""
    return shard.with_suffix(".json")


def write_shard_manifest(shard: Path, counts: dict[str, Any]) -> None:
    """Write the manifest of a finished shard, atomically: its name, hash and size, and these counts."""
    facts = {"file": shard.name, "sha256": sha256_file(shard), "file_bytes": shard.stat().st_size, **counts}
    with atomic_write(manifest_path(shard), "wb") as stream:
        stream.write(orjson.dumps(facts, option=orjson.OPT_INDENT_2) + b"\n")


def read_shard_manifest(shard: Path) -> dict[str, Any]:
    """Return the manifest of a shard; HunminError where it is missing or damaged."""
    path = manifest_path(shard)
    try:
        manifest: dict[str, Any] = orjson.loads(read_bytes(path))
    except (OSError, orjson.JSONDecodeError) as error:
        raise HunminError(
            f"cannot read {path}: {error}", "a manifest lies beside each shard", "delete the corpus folder, run again"
        ) from None
    return manifest


def copies_of(shard: Path) -> int:
    """Return how often the documents of a shard come in a pass over the corpus; 0: they are held out of training.

    Raises:
        HunminError: the shard's manifest is missing or damaged.
    """
    return int(read_shard_manifest(shard).get(COPIES, 1))


def drop_sentences(table: pa.Table, keep: np.ndarray) -> pa.Table:
    """Return `table` without the sentences that `keep` (bool [sentences]) denies and the documents that lose all."""
    lists = table.column("sentences").combine_chunks()
    offsets = lists.offsets.to_numpy()
    kept_offsets = np.concatenate(([0], np.cumsum(keep)))[offsets - offsets[0]]
    values = lists.flatten().filter(pa.array(keep))
    column = pa.ListArray.from_arrays(pa.array(kept_offsets.astype(np.int32)), values)
    table = table.set_column(table.schema.get_field_index("sentences"), "sentences", column)
    return table.filter(pa.array(np.diff(kept_offsets) > 0))
