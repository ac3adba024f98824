"""Files of lines that can be read from any place on: scanned in parallel, then read by ranges.

A unit is the lines that begin in a range of the file, all but one that begins just at its start, which belongs to the
range before. A line's number is known when the line ends of all ranges before are counted (`look_through`), so ids are
what they are when a file is read from its beginning (`tests/data/readers/test_ranges.py`). The hash of what a range
held then goes with the unit: it names the unit by its content, and tells the reader that nothing has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import orjson
import xxhash

from data.readers.blocks import LINES, cut
from data.readers.encoding import READ_BYTES, told_by
from data.readers.records import Block, InputFile
from data.readers.settings import Format
from data.readers.volume import has_changed

PIECE_BYTES = 8_000_000
"""Text of a range that is parsed at once."""
BORDER_BYTES = 1 << 16
"""Bytes read at once to find the end of a line."""


@dataclass(frozen=True)
class Seekable:
    """The way in which a file can be read by ranges.

    Args:
        begin: where its text begins, after a mark.
        encoding: utf-8 or cp949; None where its beginning, all ASCII, does not tell.
    """

    format: Format
    size: int
    begin: int
    encoding: str | None

    def ranges(self, block_bytes: int) -> int:
        """Return the number of ranges of a file."""
        return max(1, -(-self.size // block_bytes))


class Lines(NamedTuple):
    """The whole lines of a range: `size` bytes of content from place `start` on.

    `encoding` is what the chunks that begin in the range tell, None where they are ASCII or were not asked.
    """

    start: int
    size: int
    lines: int
    hash: str
    encoding: str | None


def look_through(path: str, seekable: Seekable, block_bytes: int, first: int, last: int) -> list[Lines]:
    """Return the contents of ranges first … last - 1 of a local file, reading them once, and a line end more.

    `block_bytes` is the length of a range, `last` at most `seekable.ranges(block_bytes)`.
    """
    contents = []
    with Path(path).open("rb", buffering=0) as stream:
        start = _border(stream, first * block_bytes, seekable) if first else seekable.begin
        for number in range(first, last):
            end = seekable.size
            if (number + 1) * block_bytes < seekable.size:
                end = max(start, _border(stream, (number + 1) * block_bytes, seekable))
            digest = xxhash.xxh3_128()
            count = 0
            for chunk in _chunks(stream, start, end):
                digest.update(chunk)
                count += chunk.count(b"\n")
            encoding = (
                None if seekable.encoding else _encoding_of(stream, number * block_bytes, (number + 1) * block_bytes)
            )
            contents.append(Lines(start, end - start, count, digest.hexdigest(), encoding))
            start = end
    return contents


def _border(stream: IO[bytes], at: int, seekable: Seekable) -> int:
    stream.seek(at)
    while piece := stream.read(BORDER_BYTES):
        line_end = piece.find(b"\n")
        if line_end >= 0:
            return max(at + line_end + 1, seekable.begin)
        at += len(piece)
    return seekable.size


def _chunks(stream: IO[bytes], start: int, end: int) -> Iterator[bytes]:
    stream.seek(start)
    while start < end and (chunk := stream.read(min(READ_BYTES, end - start))):
        yield chunk
        start += len(chunk)


def _encoding_of(stream: IO[bytes], start: int, end: int) -> str | None:
    """Return what the chunks tell that begin in a range and that a reader from the beginning would meet."""
    for at in range(-(-start // READ_BYTES) * READ_BYTES, end, READ_BYTES):
        encoding = told_by(b"".join(_chunks(stream, at, at + READ_BYTES)))
        if encoding:
            return encoding
    return None


def range_blocks(seekable: Seekable, contents: list[Lines]) -> list[Block]:
    """Return a file's blocks from all its ranges in order: references to them with the numbers of their first lines."""
    encoding = seekable.encoding or next((content.encoding for content in contents if content.encoding), "utf-8")
    blocks: list[Block] = []
    line = 1
    for content in contents:
        if content.size:
            reference = orjson.dumps({"start": content.start, "hash": content.hash})
            blocks.append(Block(len(blocks), line, reference, encoding, bytes=content.size))
        line += content.lines
    return blocks


class _RangeStream:
    damaged = False

    def __init__(self, stream: IO[bytes], size: int, encoding: str) -> None:
        self._stream = stream
        self._left = size
        self.encoding = encoding
        self.digest = xxhash.xxh3_128()

    def __iter__(self) -> Iterator[bytes]:
        while self._left and (chunk := self._stream.read(min(READ_BYTES, self._left))):
            self._left -= len(chunk)
            self.digest.update(chunk)
            yield chunk


def read_range(file: InputFile, block: Block) -> Iterator[Block]:
    """Yield the text to which a block refers, in blocks.

    Raises:
        HunminError: the file holds something else there than when it was looked through; after the blocks.
    """
    reference = orjson.loads(block.data)
    with Path(file.path).open("rb", buffering=0) as opened:
        opened.seek(reference["start"])
        stream = _RangeStream(opened, block.size, block.encoding)
        yield from cut(stream, LINES, PIECE_BYTES, block.first_line)
    if stream.digest.hexdigest() != reference["hash"]:
        raise has_changed(file.path)
