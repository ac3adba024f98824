"""The gate: RE2 over a whole buffer finds the lines worth looking at, and for each what is worth looking for."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

import re2

from data.pii.beside_label import LABEL_FINDERS
from data.pii.bytewise import Bytewise, code_points
from data.pii.line_wrapped import LINE_WRAPPED_GATE
from data.pii.obfuscated import FOLD, OBFUSCATED_GATES
from data.pii.type_names import ON_REQUEST, PII_TYPES
from data.pii.types import BY_NAME

DFA_BYTES = 256 << 20
"""Memory RE2 may use for the states of one automaton (some 40 MB in 330 MB of mixed text). When it is full, RE2 throws
all states away and makes them again: with 64 MB the search took twice as long on that text."""
BATCH_CHARACTERS = 1 << 16
"""Texts are searched together up to this size: long enough to make calls cheap, short enough to stay in the cache."""
_BATCHES = 16
"""Batches that an automaton goes through before the next one does."""
LONG = 512
"""Characters of a line in which values are looked for near what their gate matches alone."""
REACH = 192
"""Characters before and after that."""
_LOOK_AHEAD = 64
"""Characters after a line end in which the gate of line-wrapped numbers looks."""
WORDED = frozenset(
    (
        *("URL", "EMAIL", "MENTION", FOLD, "labels", "spoken", "written_mail", "mail_apart"),
        *("korean_host", "labelled_host", "written_host", "spaced_address"),
    )
)
"""Gates that words and signs open, not digits: an automaton of these and one of the others have far fewer states than
one of all."""


Parts = list[tuple[int, int]]
"""Sections of a line, sorted and apart: first character and the one after the last."""
Types = dict[str, Parts | None]
"""Types whose gate matched on a line, in the order of the types, then ways of writing (obfuscated.py): in which parts,
None for the whole line."""


class Window(NamedTuple):
    """A line of a text that the gate let through."""

    text: int
    """Index of the text."""
    start: int
    """First character of the line."""
    end: int
    """First character after the line."""
    types: Types
    """Types that the line may hold."""


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = DFA_BYTES
    options.never_capture = True
    options.log_errors = False
    return options


def encode(text: str) -> bytes:
    """Return the text as UTF-8, with "?" for the lone surrogates that JSON may hold, so that characters still count."""
    return text.encode("utf-8", "replace")


class _Automaton:
    """Some of the gates: an automaton that says where any of them matches, and one that says which.

    Args:
        beside: further ones that are looked for only where a gate matches.
        unnamed: a pattern that is no gate of a type.
    """

    def __init__(self, gates: dict[str, str], beside: dict[str, str], unnamed: str | None = None) -> None:
        self._names = (*gates, *beside)
        anywhere = dict.fromkeys([*gates.values(), *([unnamed] if unnamed else [])])
        self._any = Bytewise("|".join(f"(?:{pattern})" for pattern in anywhere), _options())
        self._each = re2.Set.SearchSet(_options())
        for pattern in (*gates.values(), *beside.values()):
            self._each.Add(pattern)
        self._each.Compile()
        self._evidence = {
            name: re2.compile(BY_NAME[name].evidence, _options())
            for name in gates
            if name in BY_NAME and BY_NAME[name].evidence
        }
        self.encode = self._any.encode

    def lines(self, data: bytes) -> Iterator[tuple[int, int, Parts | None]]:
        search = self._any.compiled.search
        position = 0
        while position <= len(data) and (match := search(data, position)) is not None:
            at = match.start()
            end = data.find(b"\n", at)  # a gate may look at the line end itself
            end = len(data) if end < 0 else end
            begin = data.rfind(b"\n", 0, at) + 1
            yield begin, end, self._parts(data, begin, at, end) if end - begin > LONG else None
            position = end + 1

    def parts(self, text: str, start: int, end: int) -> Parts | None:
        """Return where in the line text[start:end] `types` is to look, None for the whole line."""
        if end - start <= LONG:
            return None
        parts = self._parts(self.encode(code_points(text[start:end])), 0, 0, end - start)
        return [(start + first, start + last) for first, last in parts]

    def _parts(self, data: bytes, start: int, first: int, end: int) -> Parts:
        parts: Parts = []
        for match in self._any.compiled.finditer(data, first, end):
            begin = max(start, match.start() - REACH)
            if parts and begin <= parts[-1][1]:
                begin = parts.pop()[0]
            parts.append((begin, min(end, match.end() + REACH)))
        return parts

    def types(self, text: str, start: int, end: int, parts: Parts | None) -> Types:
        types: Types = {}
        for part in [(start, end)] if parts is None else parts:
            for index in self._each.Match(encode(text[slice(*part)])) or ():
                name = self._names[index]
                evidence = self._evidence.get(name)
                if evidence is None or evidence.search(encode(text[max(0, part[0] - REACH) : part[1] + REACH])):
                    types[name] = None if parts is None else [*(types.get(name) or ()), part]
        return types


class Gate:
    """All gates as automata: of those that digits open, and of those that words and signs open."""

    def __init__(self, on_request: bool = False) -> None:
        kinds = {name: BY_NAME[name].gate for name in (PII_TYPES + ON_REQUEST if on_request else PII_TYPES)}
        gates = kinds | OBFUSCATED_GATES
        self.types = tuple(kinds)
        self._order = {name: place for place, name in enumerate(gates)}
        own = {name: gate for name, gate in gates.items() if name not in LABEL_FINDERS}
        labels = {name: gate for name, gate in gates.items() if name in LABEL_FINDERS}
        self._automata = (
            _Automaton({name: gate for name, gate in own.items() if name not in WORDED}, labels, LINE_WRAPPED_GATE),
            _Automaton({name: gate for name, gate in own.items() if name in WORDED}, labels),
        )
        self._line_wrapped = re2.compile(LINE_WRAPPED_GATE, _options())

    def line_types(self, text: str, start: int, end: int) -> Types:
        """Return the types that the line text[start:end] may hold."""
        types: Types = {}
        for automaton in self._automata:
            types |= automaton.types(text, start, end, automaton.parts(text, start, end))
        return self._in_order(types)

    def _in_order(self, types: Types, offset: int = 0) -> Types:
        return {
            name: (parts := types[name]) and [(first - offset, last - offset) for first, last in parts]
            for name in sorted(types, key=self._order.__getitem__)
        }

    def windows(self, texts: list[str]) -> Iterator[Window]:
        """Yield the lines of all texts that may hold personal data, in order."""
        ends = list(accumulate(map(len, texts)))
        batches = []
        first = done = 0
        while first < len(texts):
            last = max(first + 1, bisect_right(ends, done + BATCH_CHARACTERS, first))
            batches.append((first, last))
            first, done = last, ends[last - 1]
        for begin in range(0, len(batches), _BATCHES):
            yield from self._search(texts, batches[begin : begin + _BATCHES])

    def _search(self, texts: list[str], batches: Parts) -> Iterator[Window]:
        buffers = ["\n".join(texts[first:last]) for first, last in batches]
        encoded = [[automaton.encode(codes) for automaton in self._automata] for codes in map(code_points, buffers)]
        matched: list[dict[tuple[int, int], Types]] = [{} for _ in batches]
        for number, automaton in enumerate(self._automata):  # over all batches: its states stay in the cache
            lines = [list(automaton.lines(data[number])) for data in encoded]
            for buffer, some, by_line in zip(buffers, lines, matched, strict=True):
                for begin, end, parts in some:
                    by_line.setdefault((begin, end), {}).update(automaton.types(buffer, begin, end, parts))
        for (first, last), buffer, by_line in zip(batches, buffers, matched, strict=True):
            starts = [0, *accumulate(len(text) + 1 for text in texts[first:last])]
            for (begin, end), types in sorted(by_line.items()):
                index = bisect_right(starts, begin) - 1
                if types or self._line_wrapped.search(encode(buffer[begin : end + _LOOK_AHEAD])) is not None:
                    offset = starts[index]
                    yield Window(first + index, begin - offset, end - offset, self._in_order(types, offset))


@functools.cache
def gate(on_request: bool = False) -> Gate:
    """Return the gate, compiled once."""
    return Gate(on_request)
