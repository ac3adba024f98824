"""Lines of a byte stream in batches: bounded in memory, and never held back while the stream has nothing new."""

from __future__ import annotations

import io
import select
from collections.abc import Iterator
from typing import IO

LINE_BYTES = 128 << 20
"""A longer line is no document; it is skipped without being held in memory."""


def line_batches(stream: IO[bytes], batch_bytes: int) -> Iterator[list[bytes | None]]:
    """Yield the lines of a stream without their line ends; None stands for a line of more than `LINE_BYTES`.

    A batch ends at about `batch_bytes`, at the end of the stream, or when a pipe is empty: what came in is handed on at
    once, however slowly the rest comes.
    """
    read = getattr(stream, "read1", stream.read)
    batch: list[bytes | None] = []
    size = 0
    begun: list[bytes] = []  # pieces of the line whose end has not come yet
    begun_size = 0
    while chunk := read(batch_bytes):
        size += len(chunk)
        *whole, tail = chunk.split(b"\n")
        if whole:
            first = None if begun_size + len(whole[0]) > LINE_BYTES else b"".join([*begun, whole[0]])
            batch += [first, *(line if len(line) <= LINE_BYTES else None for line in whole[1:])]
            begun, begun_size = [], 0
        begun_size += len(tail)
        begun = [*begun, tail] if begun_size <= LINE_BYTES else []
        if batch and (size >= batch_bytes or not _ready(stream)):
            yield batch
            batch, size = [], 0
    if begun_size:
        batch.append(None if begun_size > LINE_BYTES else b"".join(begun))
    if batch:
        yield batch


def _ready(stream: IO[bytes]) -> bool:
    """Return whether reading will not wait: files and buffers never do, pipes and terminals may."""
    try:
        return bool(select.select([stream.fileno()], [], [], 0)[0])
    except (io.UnsupportedOperation, AttributeError, ValueError):
        return True
