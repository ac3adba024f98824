"""What the tests of readers share: read a file whole, or in blocks of some size."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from data.readers import Document, Item, Reject, Skipped, SourceSettings, list_files, parse_block, read_blocks

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_content_size=False).compress,
}
"""Ending of a name → how its content is compressed."""


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
