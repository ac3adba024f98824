"""JSON that is not a line a record: the elements of an array, or objects one after another, found without parsing.

A scanner counts brackets outside strings, chunk by chunk, so that an array of any length is cut in bounded memory.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from data.readers import records
from data.readers.damage import UnfitInputError
from data.readers.encoding import TextStream
from data.readers.fields import FieldMap
from data.readers.lines import parse_object
from data.readers.records import Block, InputFile, Item, Reject, too_long

_QUOTE, _OPEN = 1, 2
_KINDS = np.zeros(256, np.uint8)
_KINDS[ord('"')] = _QUOTE
_KINDS[[ord("{"), ord("[")]] = _OPEN
_KINDS[[ord("}"), ord("]")]] = 3
_AROUND = b"[], \t\r\n" + BOM_UTF8
"""Between elements, between the arrays where there are several, and before them where files were put together."""


class Scanner:
    """Finds where objects and arrays on the outermost level begin and end in data fed piece by piece.

    `several` says whether another array may begin after the end of the one that the data is the inside of.
    """

    def __init__(self, several: bool = False) -> None:
        self._several = several
        self._fed = 0
        self._depth = 0
        self._inside = 0
        self._escaped = False
        self.ended = False
        """Whether the array that the data is the inside of has been closed, and no other may begin."""
        self.end = 0
        """The position after that array's closing bracket."""

    @property
    def is_open(self) -> bool:
        """Return whether what was fed ends within a string, object or array."""
        return self._depth > 0 or bool(self._inside)

    @property
    def is_member(self) -> bool:
        """Return whether what was fed ends in an object on the outermost level, and in no string."""
        return self._depth == 1 and not self._inside

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
        if len(below) and not self._several:
            self.ended = True
            self.end = int(places[below[0]]) + 1 + self._fed
            places = places[: below[0]]
            opens = opens[: below[0]]
            depths = depths[: below[0]]
        self._depth = int(depths[-1]) if len(depths) else self._depth
        begin = places[opens & (depths == 1)] + self._fed
        end = places[~opens & (depths == 0)] + 1 + self._fed
        self._fed += len(data)
        return begin, end


def cut_json(file: InputFile, stream: TextStream, block_bytes: int) -> Iterator[Block]:
    """Yield the elements of an array (the file, or the one under `records_field`), or the objects, in blocks."""
    key = file.settings.records_field
    return cut_values(stream, block_bytes) if key is None else cut_under(file, stream, key, block_bytes)


def cut_values(stream: TextStream, block_bytes: int) -> Iterator[Block]:
    """Yield the elements of the array that a file is (or of several), or the objects in it, in blocks."""
    start = len(stream.head) - len(stream.head.lstrip())
    chunks = _from(stream, start + (stream.head[start : start + 1] == b"["))
    return _cut(stream, chunks, block_bytes, Scanner(several=True))


def cut_under(file: InputFile, stream: TextStream, key: str, block_bytes: int) -> Iterator[Block]:
    """Yield the elements of the array under a key of the file's object, or the object there, in blocks.

    Raises:
        UnfitInputError: the file's first megabyte does not hold the key.
    """
    place = place_under(stream.head, key)
    if place is None:
        raise UnfitInputError(
            file.path,
            f'holds no "{key}": [...] in its first megabyte',
            "correct the source's records_field, or leave it out: the message then names the arrays that are there",
            f"the records stand in the array under '{key}' of the object that the file is",
        )
    inside = place + (stream.head[place : place + 1] == b"[")
    return _cut(stream, _from(stream, inside), block_bytes, Scanner(), single=inside == place)


def place_under(head: bytes, key: str) -> int | None:
    """Return where the array or object under a key of the outermost object begins, None where there is none."""
    scanner = Scanner(several=True)
    done = 0
    for match in re.finditer(rb'"%b"\s*:\s*([\[{])' % re.escape(key.encode()), head):
        scanner.feed(head[done : match.start()])
        done = match.start()
        if scanner.is_member:
            return match.start(1)
    return None


def _cut(
    stream: TextStream, chunks: Iterator[bytes], block_bytes: int, scanner: Scanner, single: bool = False
) -> Iterator[Block]:
    """Yield objects and arrays in blocks of about `block_bytes`, numbered from 1; only the first if `single`.

    What is longer than `MAX_RECORD_BYTES` is left out; a later block (or an empty one at the end) holds its reject.
    Where `scanner` ends, the rest of the enclosing object is passed over. `chunks` begin with the first element.
    """
    limit = records.MAX_RECORD_BYTES
    number = 0
    record = 1
    count = 0
    rejects: list[Reject] = []
    parts: list[bytes] = []
    """The chunks since `begun`; in them `count` whole elements, the last of which ends at `last`."""
    begun = last = fed = 0
    closed: int | None = None
    """Where the elements are over, once they are."""
    for chunk in chunks:
        ends = scanner.feed(chunk)[1]
        if single and len(ends):
            closed = int(ends[0])
            ends = ends[:1]
        elif scanner.ended:
            closed = scanner.end
        fed += len(chunk)
        parts.append(chunk)
        too_far = (int(ends[0]) if len(ends) else fed) - last > limit
        if count and (too_far or last - begun >= block_bytes):
            data = b"".join(parts)
            yield Block(number, record, data[: last - begun], stream.encoding, rejects=tuple(rejects))
            number += 1
            record += count
            count = 0
            rejects.clear()
            parts = [data[last - begun :]]
            begun = last
        if too_far and not len(ends):
            parts = []
            begun = fed
        elif too_far:
            # a chunk is shorter than the limit: only the first element that ends in it can be too long
            rejects.append(too_long(record))
            record += 1
            begun = int(ends[0])
            last = begun
            parts = [chunk[len(chunk) - (fed - begun) :]]
            ends = ends[1:]
        if len(ends):
            count += len(ends)
            last = int(ends[-1])
        if closed is not None:
            break
    if begun > last:
        rejects.append(too_long(record))
    data = b"".join(parts)
    if closed is not None:
        data = data[: max(closed - begun, 0)]
        if _is_more(chain([chunk[len(chunk) - (fed - closed) :]] if fed > closed else [], chunks)):
            rejects.append(Reject(record + count, "after the end of the object with the records"))
    if data.strip(_AROUND) or rejects:
        yield Block(number, record, data, stream.encoding, rejects=tuple(rejects))


def _from(stream: TextStream, start: int) -> Iterator[bytes]:
    for index, chunk in enumerate(stream):
        yield chunk if index else chunk[start:]


def _is_more(chunks: Iterator[bytes]) -> bool:
    scanner = Scanner()
    fed = 0
    for chunk in chunks:
        if not scanner.ended:
            scanner.feed(chunk)
        if scanner.ended and chunk[max(scanner.end - fed, 0) :].strip():
            return True
        fed += len(chunk)
    return False


def elements_of(block: Block) -> Iterator[tuple[int, bytes] | Reject]:
    """Yield number and bytes of each element of a block, and a reject for what is none."""
    scanner = Scanner(several=True)
    begins, ends = scanner.feed(block.data)
    number, done = block.first_line, 0
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=False):
        if block.data[done:begin].strip(_AROUND):
            yield Reject(number, "not a JSON object")
        yield number, block.data[begin:end]
        number, done = number + 1, end
    if block.data[done:].strip(_AROUND):
        yield Reject(number, "cut short" if scanner.is_open else "not a JSON object")


def parse_json(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield a document or reject for each element."""
    fields = FieldMap(file)
    for element in elements_of(block):
        if isinstance(element, Reject):
            yield element
        else:
            yield from parse_object(fields, *element)
