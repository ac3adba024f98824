"""JSON that is not a line a record: the elements of an array, or objects one after another, found without parsing.

A scanner counts brackets outside strings, chunk by chunk, so that an array of any length is cut in bounded memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from common.errors import UserError
from data.readers import records
from data.readers.encoding import TextStream
from data.readers.lines import parse_object
from data.readers.records import Block, FieldMap, InputFile, Item, Reject, too_long

_QUOTE, _OPEN = 1, 2
_KINDS = np.zeros(256, np.uint8)
_KINDS[ord('"')] = _QUOTE
_KINDS[[ord("{"), ord("[")]] = _OPEN
_KINDS[[ord("}"), ord("]")]] = 3
_BETWEEN = b", \t\r\n"


class Scanner:
    """Finds where objects and arrays on the outermost level begin and end in data fed piece by piece."""

    def __init__(self) -> None:
        self._fed = 0
        self._depth = 0
        self._inside = 0
        self._escaped = False
        self.ended = False
        """Whether the array that the data is the inside of has been closed."""

    def feed(self, data: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the positions (in all that was fed) where elements begin, and after which they end, in `data`."""
        if self.ended or not data:
            self._fed += len(data)
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if self._escaped:
            data = b"_" + data[1:]
        data = data.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        self._escaped = data.endswith(b"\\")
        kinds = _KINDS[np.frombuffer(data, np.uint8)]
        places = np.flatnonzero(kinds)
        kinds = kinds[places]
        quotes = kinds == _QUOTE
        within = (np.cumsum(quotes) + self._inside) & 1
        self._inside = int(within[-1]) if len(within) else self._inside
        brackets = ~quotes & (within == 0)
        places, opens = places[brackets], kinds[brackets] == _OPEN
        depths = self._depth + np.cumsum(np.where(opens, 1, -1))
        below = np.flatnonzero(depths < 0)
        if len(below):
            self.ended = True
            places, opens, depths = places[: below[0]], opens[: below[0]], depths[: below[0]]
        self._depth = int(depths[-1]) if len(depths) else self._depth
        begin, end = places[opens & (depths == 1)] + self._fed, places[~opens & (depths == 0)] + 1 + self._fed
        self._fed += len(data)
        return begin, end


def cut_json(file: InputFile, stream: TextStream, block_bytes: int) -> Iterator[Block]:
    """Yield the elements of an array (the file, or the one under `records_field`), or the objects, in blocks."""
    key = file.settings.records_field
    if key is not None:
        return cut_elements(stream, array_start(file, stream.head, key), block_bytes)
    start = len(stream.head) - len(stream.head.lstrip())
    return cut_elements(stream, start + (stream.head[start : start + 1] == b"["), block_bytes)


def array_start(file: InputFile, head: bytes, key: str) -> int:
    """Return where the elements under a key begin: inside its array, or at its object.

    Raises:
        UserError: the file's first megabyte does not hold the key.
    """
    match = re.search(rb'"%b"\s*:\s*([\[{])' % re.escape(key.encode()), head)
    if match is None:
        raise UserError(
            f'{file.path} holds no "{key}": [...] in its first megabyte',
            f"the records stand in the array under '{key}'",
            "give the source's format, or for json its records_field",
        )
    return match.end() if match.group(1) == b"[" else match.start(1)


def cut_elements(stream: TextStream, start: int, block_bytes: int) -> Iterator[Block]:
    """Yield objects and arrays from position `start` on in blocks of about `block_bytes`, numbered from 1.

    What is longer than `MAX_RECORD_BYTES` is left out; a later block (or an empty one at the end) holds its reject.
    """
    limit = records.MAX_RECORD_BYTES
    scanner = Scanner()
    number, record, count = 0, 1, 0
    rejects: list[Reject] = []
    parts: list[bytes] = []
    """The chunks since `begun`; in them `count` whole elements, the last of which ends at `last`."""
    begun = last = fed = 0
    for chunk in _from(stream, start):
        ends = scanner.feed(chunk)[1]
        fed += len(chunk)
        parts.append(chunk)
        too_far = (int(ends[0]) if len(ends) else fed) - last > limit
        if count and (too_far or last - begun >= block_bytes):
            data = b"".join(parts)
            yield Block(number, record, data[: last - begun], stream.encoding, rejects=tuple(rejects))
            number, record, count = number + 1, record + count, 0
            rejects.clear()
            parts, begun = [data[last - begun :]], last
        if too_far and not len(ends):
            parts, begun = [], fed
            continue
        if too_far:
            # a chunk is shorter than the limit: only the first element that ends in it can be too long
            rejects.append(too_long(record))
            record, begun, last = record + 1, int(ends[0]), int(ends[0])
            parts, ends = [chunk[len(chunk) - (fed - begun) :]], ends[1:]
        if len(ends):
            count, last = count + len(ends), int(ends[-1])
        if scanner.ended:
            break
    if begun > last:
        rejects.append(too_long(record))
    data = b"".join(parts)[: last - begun if scanner.ended else None]
    if data.strip(_BETWEEN) or rejects:
        yield Block(number, record, data, stream.encoding, rejects=tuple(rejects))


def _from(stream: TextStream, start: int) -> Iterator[bytes]:
    for index, chunk in enumerate(stream):
        yield chunk if index else chunk[start:]


def elements_of(block: Block) -> Iterator[tuple[int, bytes] | Reject]:
    """Yield number and bytes of each element of a block, and a reject for what is none."""
    begins, ends = Scanner().feed(block.data)
    number, done = block.first_line, 0
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=False):
        if block.data[done:begin].strip(_BETWEEN):
            yield Reject(number, "not a JSON object")
        yield number, block.data[begin:end]
        number, done = number + 1, end
    if block.data[done:].strip(_BETWEEN + b"]"):
        yield Reject(number, "cut short")


def parse_json(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield a document or reject for each element."""
    fields = FieldMap(file)
    for element in elements_of(block):
        yield element if isinstance(element, Reject) else parse_object(fields, *element)
