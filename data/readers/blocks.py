"""Cutting: a stream of text into blocks that end where a record ends.

A format brings its borders: functions that find the first or the last end of a record in data that begins with one.
Which records there are, and their numbers, does not depend on where blocks are cut.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from data.readers import records
from data.readers.records import Block, Reject, too_long

T = TypeVar("T")


@dataclass(frozen=True)
class Borders:
    """Where records of a format end.

    Args:
        last: data → position after the last border in it, 0 where there is none.
        first: data → position after the first border in it, 0 where there is none.
        count: data → how much the line (or record) number grows over it.
    """

    last: Callable[[bytes], int]
    first: Callable[[bytes], int]
    count: Callable[[bytes], int]


class Chunks(Protocol):
    """A stream of text in chunks; `encoding` is that of all of them up to now."""

    @property
    def encoding(self) -> str: ...

    @property
    def damaged(self) -> bool: ...

    def __iter__(self) -> Iterator[bytes]: ...


def cut(stream: Chunks, borders: Borders, block_bytes: int, first_line: int = 1) -> Iterator[Block]:
    """Yield a stream's content in blocks of about `block_bytes`, cut at borders; longer records are kept whole.

    Blocks without such a record are at most half of `MAX_RECORD_BYTES`. A record of more than `MAX_RECORD_BYTES` is
    left out; the next block (or an empty one at the end) holds its reject. What follows the last border of a stream
    that ends in damage is left out, too. `first_line` is the number of the stream's first line.
    """
    limit = records.MAX_RECORD_BYTES
    # with half the limit, what is looked at holds no second record that is too long
    look_at = target = min(block_bytes, limit // 2)
    number, line = 0, first_line
    pieces: list[bytes] = []
    size = 0
    dropping = False
    rejects: list[Reject] = []
    for chunk in stream:
        pieces.append(chunk)
        size += len(chunk)
        if size < look_at:
            continue
        data = b"".join(pieces)
        if dropping or size > limit:
            data, line, dropping = _without_first(data, borders, line, dropping, rejects)
        end = borders.last(data) if len(data) >= target else 0
        if end:
            yield Block(number, line, data[:end], stream.encoding, rejects=tuple(rejects))
            number = number + 1
            line = line + borders.count(data[:end])
            data = data[end:]
            rejects.clear()
        pieces, size = [data], len(data)
        # nothing to cut at: the next look is after as many bytes again, so a long record costs linear time
        look_at = target if size < target else min(2 * size, limit + 1)
    data = b"".join(pieces)
    if dropping or size > limit:
        data, line, dropping = _without_first(data, borders, line, dropping, rejects)
        data = b"" if dropping else data
    if stream.damaged:
        data = data[: borders.last(data)]
    if data or rejects:
        yield Block(number, line, data, stream.encoding, rejects=tuple(rejects))


def _without_first(
    data: bytes, borders: Borders, line: int, dropping: bool, rejects: list[Reject]
) -> tuple[bytes, int, bool]:
    """Return the data without a first record too long, the line it begins at, whether that record continues."""
    end = borders.first(data)
    if end and not dropping and end <= records.MAX_RECORD_BYTES:
        return data, line, False
    if not dropping:
        rejects.append(too_long(line))
    # a border may lie over the end of what was read: its beginning is kept
    remaining = data[end:] if end else data[-OVERLAP:]
    return remaining, line + borders.count(data[: len(data) - len(remaining)]), not end


OVERLAP = 64
"""Bytes kept of a record that is too long: no border is longer, but one of blank lines with blanks in them."""


def count_lines(data: bytes) -> int:
    """Return the number of line ends."""
    return data.count(b"\n")


LINES = Borders(lambda data: data.rfind(b"\n") + 1, lambda data: data.find(b"\n") + 1, count_lines)
WHOLE = Borders(lambda data: 0, lambda data: 0, count_lines)
"""A file is one record."""
BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")


def _last_blank_line(data: bytes) -> int:
    end = 0
    for match in BLANK_LINE.finditer(data):
        end = match.end()
    return end


def _first_blank_line(data: bytes) -> int:
    match = BLANK_LINE.search(data)
    return match.end() if match else 0


BLANK_LINES = Borders(_last_blank_line, _first_blank_line, count_lines)


def filled(items: Iterable[T], size: Callable[[T], int], least: int) -> Iterator[list[T]]:
    """Yield the items, in order, in lists that reach the size `least` with their last item; the last list may not."""
    batch: list[T] = []
    total = 0
    for item in items:
        batch.append(item)
        total += size(item)
        if total >= least:
            yield batch
            batch = []
            total = 0
    if batch:
        yield batch


def lines_of(block: Block) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of the lines of a block that are not blank, without blanks at their borders.

    Byte order marks stand where files were put together.
    """
    for offset, line in enumerate(block.data.split(b"\n")):
        line = line.removeprefix(BOM_UTF8).strip(b"\r \t")
        if line:
            yield block.first_line + offset, line


def parts_of(block: Block, border: re.Pattern[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield line number and content of the parts of a block between matches of a border that are not blank."""
    line, start = block.first_line, 0
    spans = [*(match.span() for match in border.finditer(block.data)), (len(block.data),) * 2]
    for end, following in spans:
        body = block.data[start:end]
        stripped = body.lstrip(b"\r\n \t")
        if stripped:
            yield line + body.count(b"\n", 0, len(body) - len(stripped)), stripped.rstrip()
        line += block.data.count(b"\n", start, following)
        start = following
