"""The gate: RE2 over a whole buffer finds the lines worth looking at, and for each what is worth looking for."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

import re2

from data.pii.beside_label import LABEL_FINDERS
from data.pii.broken import BROKEN_GATE
from data.pii.hidden import HIDDEN_GATES
from data.pii.types import ON_REQUEST, TYPES

DFA_BYTES = 256 << 20
"""Memory RE2 may use for the states of one automaton (some 40 MB in 330 MB of mixed text). When it is full, RE2 throws
all states away and makes them again: with 64 MB the search took twice as long on that text."""
BATCH_CHARACTERS = 1 << 16
"""Texts are searched together up to this size: long enough to make calls cheap, short enough to stay in the cache."""
_LOOK_AHEAD = 64
"""Bytes after a line end in which the gate of broken numbers looks."""


class Window(NamedTuple):
    """A line of a text that the gate let through."""

    text: int
    """Index of the text."""
    start: int
    """First character of the line."""
    end: int
    """First character after the line."""
    types: tuple[str, ...]
    """Types whose gate matched on the line, in the order of the types, and then ways of writing (see hidden.py)."""


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = DFA_BYTES
    options.never_capture = True
    options.log_errors = False
    return options


def encode(text: str) -> bytes:
    """Return the text as UTF-8, with "?" for the lone surrogates that JSON may hold, so that characters still count."""
    return text.encode("utf-8", "replace")


class Gate:
    """All gates as two automata: one that says where anything may be, one that says what."""

    def __init__(self, on_request: bool = False) -> None:
        kinds = {kind.name: kind.gate for kind in (TYPES + ON_REQUEST if on_request else TYPES)}
        gates = kinds | HIDDEN_GATES
        self.types = tuple(kinds)
        self._names = tuple(gates)
        self._gates = gates
        anywhere = [gate for name, gate in gates.items() if name not in LABEL_FINDERS]
        self._any = re2.compile("|".join(f"(?:{gate})" for gate in dict.fromkeys((*anywhere, BROKEN_GATE))), _options())
        self._broken = re2.compile(BROKEN_GATE, _options())
        self._each = re2.Set.SearchSet(_options())
        for gate in gates.values():
            self._each.Add(gate)
        self._each.Compile()

    def line_types(self, line: bytes) -> tuple[str, ...]:
        """Return the types and ways of writing whose gate matches somewhere in the line, in order."""
        return tuple(self._names[index] for index in sorted(self._each.Match(line) or ()))

    def near(self, name: str, text: str, start: int, end: int, reach: int) -> list[tuple[int, int]]:
        """Return the parts of a line, sorted and apart, that hold what the gate of a type matches.

        Args:
            start: first character of the line in the text, which ends at `end`.
            reach: characters that a part holds before and after a match.
        """
        line = encode(text[start:end])
        parts: list[tuple[int, int]] = []
        byte, character = 0, start
        for match in _alone(self._gates[name]).finditer(line):
            first = character + _characters(line[byte : match.start()])
            byte, character = match.end(), first + _characters(match[0])
            begin = max(start, first - reach)
            if parts and begin <= parts[-1][1]:
                begin = parts.pop()[0]
            parts.append((begin, min(end, character + reach)))
        return parts

    def windows(self, texts: list[str]) -> Iterator[Window]:
        """Yield the lines of all texts that may hold personal data, in order."""
        ends = list(accumulate(map(len, texts)))
        first = done = 0
        while first < len(texts):
            last = max(first + 1, bisect_right(ends, done + BATCH_CHARACTERS, first))
            yield from self._search([encode(text) for text in texts[first:last]], first)
            first, done = last, ends[last - 1]

    def _search(self, batch: list[bytes], first: int) -> Iterator[Window]:
        buffer = b"\n".join(batch)
        starts = [0, *accumulate(len(data) + 1 for data in batch)]
        index = known_byte = known_character = 0
        position = 0
        search = self._any.search
        while (match := search(buffer, position)) is not None:
            at = match.start()
            found = bisect_right(starts, at) - 1
            if found != index:
                index, known_byte, known_character = found, starts[found], 0
            begin = max(buffer.rfind(b"\n", 0, at) + 1, starts[index])
            end = buffer.find(b"\n", at)  # a gate may look at the line end itself
            end = len(buffer) if end < 0 else end
            line = buffer[begin:end]
            start = known_character + _characters(buffer[known_byte:begin])
            stop = start + _characters(line)
            known_byte, known_character = end, stop
            names = self.line_types(line)
            if not names and self._broken.search(buffer[begin : end + _LOOK_AHEAD]) is None:
                # RE2 may give up on a set for want of memory and then reports no match: look for everything
                names = self._names
            yield Window(first + index, start, stop, names)
            if end >= len(buffer):
                return
            position = end + 1


@functools.cache
def gate(on_request: bool = False) -> Gate:
    """Return the gate, compiled once."""
    return Gate(on_request)


@functools.cache
def _alone(gate: str) -> re2._Regexp[str]:
    return re2.compile(gate, _options())


def _characters(data: bytes) -> int:
    return len(data) if data.isascii() else len(data.decode())
