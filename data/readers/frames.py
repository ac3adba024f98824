"""Zstandard files of several frames (`pzstd`, files put together with `cat`): where the frames begin (RFC 8878)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

MAGIC, SKIPPABLE = 0xFD2FB528, range(0x184D2A50, 0x184D2A60)
MOST_FRAME_BYTES = 256_000_000
"""A file with a longer frame (as stored) is read from its beginning: nearly all of it may be that one frame."""
STORED_SHARE = 4
"""A range takes frames of a unit's size divided by this, as they are stored."""
DICTIONARY_ID, CONTENT_SIZE = (0, 1, 2, 4), (0, 2, 4, 8)
"""Bytes of these fields of a frame's header, by their flags."""
RAW_RLE, RESERVED = 1, 3
"""Kinds of blocks: one byte that repeats; none that there is."""


class _OtherError(ValueError):
    """The file is no whole row of frames."""


def range_starts(path: str, block_bytes: int) -> tuple[int, ...]:
    """Return where ranges of frames of about `block_bytes` of content begin; none where there are not several.

    Only headers are read, some bytes every 128 KB. Files that are damaged, or cut, have none: who reads them from their
    beginning says what is wrong.

    Args:
        path: a local file.
        block_bytes: content of a range.
    """
    size = Path(path).stat().st_size
    starts: list[int] = []
    with Path(path).open("rb", buffering=0) as stream:
        try:
            for start in _frames(stream, size):
                if not starts or start - starts[-1] >= block_bytes / STORED_SHARE:
                    starts.append(start)
        except _OtherError:
            return ()
    return tuple(starts) if len(starts) > 1 else ()


def _frames(stream: IO[bytes], size: int) -> Iterator[int]:
    """Yield where frames with content begin."""
    at = 0
    while at < size:
        magic = _number(stream, at, 4)
        if magic in SKIPPABLE:
            at += 8 + _number(stream, at + 4, 4)
            continue
        if magic != MAGIC:
            raise _OtherError
        yield at
        end = _end_of_frame(stream, at, size)
        if end - at > MOST_FRAME_BYTES:
            raise _OtherError
        at = end
    if at != size:
        raise _OtherError


def _end_of_frame(stream: IO[bytes], start: int, size: int) -> int:
    descriptor = _number(stream, start + 4, 1)
    single, checksum = descriptor >> 5 & 1, descriptor >> 2 & 1
    content = CONTENT_SIZE[descriptor >> 6] or single
    at = start + 5 + (not single) + DICTIONARY_ID[descriptor & 3] + content
    last = 0
    while not last:
        header = _number(stream, at, 3)
        last, kind, length = header & 1, header >> 1 & 3, header >> 3
        if kind == RESERVED or at - start > MOST_FRAME_BYTES:
            raise _OtherError
        at += 3 + (1 if kind == RAW_RLE else length)
    at += 4 * checksum
    if at > size:
        raise _OtherError
    return at


def _number(stream: IO[bytes], at: int, count: int) -> int:
    stream.seek(at)
    found = stream.read(count)
    if len(found) < count:
        raise _OtherError
    return int.from_bytes(found, "little")
