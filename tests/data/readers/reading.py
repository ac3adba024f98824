"""What the tests of readers share: read a file whole, or in blocks of some size."""

import bz2
import csv
import gzip
import json
import lzma
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from data.readers.formats import parse_block, read_blocks
from data.readers.paths import list_files
from data.readers.records import Document, Item, Reject, Skipped
from data.readers.settings import SourceSettings

from ..cases import sections

CASES = sections(Path(__file__).with_name("cases.txt"))
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_content_size=False).compress,
}
"""Ending of a name → how its content is compressed."""


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write rows of the same columns in a file of the format and compression that its name says."""
    names, last = list(rows[0]), path.suffix.lower()
    format = path.suffixes[0].lower()
    if format == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(rows)), path)
    elif format == ".db":
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(f"CREATE TABLE t ({', '.join(names)})")
            database.executemany(
                f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", map(tuple, map(dict.values, rows))
            )
    elif format in (".csv", ".tsv"):
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, delimiter="," if format == ".csv" else "\t", quoting=csv.QUOTE_ALL)
            writer.writerows([names, *map(dict.values, rows)])
    else:
        lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        text = lines if format == ".jsonl" else json.dumps(rows, ensure_ascii=False, indent=1)
        path.write_bytes(COMPRESS.get(last, bytes)(text.encode()))
    return path


def read(path: Path | str, block_bytes: int = 1 << 20, **fields) -> list[Item]:
    """Return everything in the files of a source, in order."""
    return [
        item
        for file in list_files([SourceSettings(path=str(path), **fields)])
        for format, block in read_blocks(file, block_bytes)
        for item in parse_block(file, format, block)
    ]


def read_in_pieces(path: Path, block_bytes: int, read_bytes: int, limit: int | None = None, **fields) -> list[Item]:
    """Return what `read` returns, with blocks, reads and records of other sizes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("data.readers.encoding.READ_BYTES", read_bytes)
        if limit:
            patch.setattr("data.readers.records.MAX_RECORD_BYTES", limit)
        return read(path, block_bytes, **fields)


def texts(items: list[Item]) -> list[str]:
    return [item.text for item in items if isinstance(item, Document)]


def ids(items: list[Item]) -> list[str]:
    return [item.id for item in items if isinstance(item, Document)]


def rejects(items: list[Item]) -> list[tuple[int, str]]:
    return [(item.line, item.reason) for item in items if isinstance(item, Reject)]


def skipped(items: list[Item]) -> list[tuple[int, str]]:
    return [(item.line, item.reason) for item in items if isinstance(item, Skipped)]
