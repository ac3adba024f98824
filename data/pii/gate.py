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
from data.pii.bytewise import Bytewise, code_points
from data.pii.hidden import FOLD, HIDDEN_GATES
from data.pii.types import ON_REQUEST, TYPES

DFA_BYTES = 256 << 20
"""Memory RE2 may use for the states of one automaton (some 40 MB in 330 MB of mixed text). When it is full, RE2 throws
all states away and makes them again: with 64 MB the search took twice as long on that text."""
BATCH_CHARACTERS = 1 << 16
"""Texts are searched together up to this size: long enough to make calls cheap, short enough to stay in the cache."""
_LOOK_AHEAD = 64
"""Characters after a line end in which the gate of broken numbers looks."""
WORDED = frozenset(
    (
        *("URL", "EMAIL", "MENTION", FOLD, "labels", "spoken", "written_mail", "mail_apart"),
        *("korean_host", "labelled_host", "written_host", "spaced_address"),
    )
)
"""Gates that words and signs open, not digits: an automaton of these and one of the others have far fewer states than
one of all."""


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
    """All gates as automata: two that say where anything may be, one that says what."""

    def __init__(self, on_request: bool = False) -> None:
        kinds = {kind.name: kind.gate for kind in (TYPES + ON_REQUEST if on_request else TYPES)}
        gates = kinds | HIDDEN_GATES
        self.types = tuple(kinds)
        self._names = tuple(gates)
        anywhere = [(name in WORDED, gate) for name, gate in gates.items() if name not in LABEL_FINDERS]
        anywhere.append((False, BROKEN_GATE))
        self._any = [
            Bytewise("|".join(dict.fromkeys(f"(?:{gate})" for half, gate in anywhere if half == worded)), _options())
            for worded in (False, True)
        ]
        self._broken = re2.compile(BROKEN_GATE, _options())
        self._each = re2.Set.SearchSet(_options())
        for gate in gates.values():
            self._each.Add(gate)
        self._each.Compile()

    def line_types(self, line: bytes) -> tuple[str, ...]:
        """Return the types and ways of writing whose gate matches somewhere in the line, in order."""
        return tuple(self._names[index] for index in sorted(self._each.Match(line) or ()))

    def near(self, text: str, start: int, end: int, reach: int) -> list[tuple[int, int]]:
        """Return the parts of a line, sorted and apart, that hold what the gates match that are not in `WORDED`.

        Args:
            start: first character of the line in the text, which ends at `end`.
            reach: characters that a part holds before and after a match.
        """
        gates = self._any[0]
        parts: list[tuple[int, int]] = []
        for match in gates.compiled.finditer(gates.encode(code_points(text[start:end]))):
            begin = max(start, start + match.start() - reach)
            if parts and begin <= parts[-1][1]:
                begin = parts.pop()[0]
            parts.append((begin, min(end, start + match.end() + reach)))
        return parts

    def windows(self, texts: list[str]) -> Iterator[Window]:
        """Yield the lines of all texts that may hold personal data, in order."""
        ends = list(accumulate(map(len, texts)))
        first = done = 0
        while first < len(texts):
            last = max(first + 1, bisect_right(ends, done + BATCH_CHARACTERS, first))
            yield from self._search(texts[first:last], first)
            first, done = last, ends[last - 1]

    def _search(self, batch: list[str], first: int) -> Iterator[Window]:
        buffer = "\n".join(batch)
        starts = [0, *accumulate(len(text) + 1 for text in batch)]
        for begin, end in sorted(self._lines(buffer)):
            index = bisect_right(starts, begin) - 1
            names = self.line_types(encode(buffer[begin:end]))
            if names or self._broken.search(encode(buffer[begin : end + _LOOK_AHEAD])) is not None:
                yield Window(first + index, begin - starts[index], end - starts[index], names)

    def _lines(self, buffer: str) -> set[tuple[int, int]]:
        """Return the lines that hold what any gate matches."""
        codes = code_points(buffer)
        lines = set()
        for gates in self._any:
            data = gates.encode(codes)
            position = 0
            while position <= len(data) and (match := gates.compiled.search(data, position)) is not None:
                at = match.start()
                end = data.find(b"\n", at)  # a gate may look at the line end itself
                end = len(data) if end < 0 else end
                lines.add((data.rfind(b"\n", 0, at) + 1, end))
                position = end + 1
        return lines


@functools.cache
def gate(on_request: bool = False) -> Gate:
    """Return the gate, compiled once."""
    return Gate(on_request)
