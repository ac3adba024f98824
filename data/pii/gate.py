"""The gate: RE2 over a whole buffer finds the lines worth looking at, and for each the types worth looking for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

import re2

from data.pii.patterns import GATES

DFA_BYTES = 64 << 20
"""Memory RE2 may use for the states of one automaton; with too little it falls back to a slower one."""
BATCH_BYTES = 4 << 20
"""Texts are searched together up to this size: long enough to make calls cheap, short enough to stay in memory."""


class Window(NamedTuple):
    """A line of a text that the gate let through."""

    text: int
    """Index of the text."""
    start: int
    """First character of the line."""
    end: int
    """First character after the line."""
    types: tuple[str, ...]
    """Types whose gate matched on the line, in the order of PII_TYPES."""


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = DFA_BYTES
    options.never_capture = True
    options.log_errors = False
    return options


_NAMES = tuple(GATES)
_ANY = re2.compile("|".join(f"(?:{gate})" for gate in GATES.values()), _options())
_EACH = re2.Set.SearchSet(_options())
for _gate in GATES.values():
    _EACH.Add(_gate)
_EACH.Compile()


def encode(text: str) -> bytes:
    """Return the text as UTF-8, with "?" for the lone surrogates that JSON may hold, so that characters still count."""
    return text.encode("utf-8", "replace")


def gate_types(line: bytes) -> tuple[str, ...]:
    """Return the types whose gate matches somewhere in the line, in the order of PII_TYPES."""
    return tuple(_NAMES[index] for index in sorted(_EACH.Match(line) or ()))


def windows(texts: list[str]) -> Iterator[Window]:
    """Yield the lines of all texts that may hold personal data, in order."""
    first, size, batch = 0, 0, []
    for index, text in enumerate(texts):
        data = encode(text)
        batch.append(data)
        size += len(data)
        if size >= BATCH_BYTES:
            yield from _search(batch, first)
            first, size, batch = index + 1, 0, []
    yield from _search(batch, first)


def _search(batch: list[bytes], first: int) -> Iterator[Window]:
    buffer = b"\n".join(batch)
    starts = [0, *accumulate(len(data) + 1 for data in batch)]
    index = known_byte = known_character = 0
    position = 0
    while (match := _ANY.search(buffer, position)) is not None:
        found = bisect_right(starts, match.start()) - 1
        if found != index:
            index, known_byte, known_character = found, starts[found], 0
        begin = max(buffer.rfind(b"\n", 0, match.start()) + 1, starts[index])
        end = buffer.find(b"\n", match.start())  # a gate may look at the line end itself
        end = len(buffer) if end < 0 else end
        line = buffer[begin:end]
        start = known_character + _characters(buffer[known_byte:begin])
        stop = start + _characters(line)
        known_byte, known_character = end, stop
        # RE2 may give up on a set for want of memory and then reports no match: look for everything
        yield Window(first + index, start, stop, gate_types(line) or _NAMES)
        if end >= len(buffer):
            return
        position = end + 1


def _characters(data: bytes) -> int:
    return len(data) if data.isascii() else len(data.decode())
