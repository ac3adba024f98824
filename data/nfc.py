"""Unicode's composed form (NFC), in linear time whatever the text, and where its characters stood before."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import NamedTuple

MOST_MARKS = 30
"""Combining marks kept in a row, as in Unicode's stream-safe text (UAX #15, section 13): no script needs as many, and
to put them in order takes the square of their number."""
_NO_MARKS_FROM = 0x20000
"""First character of the ideographic planes; from there on no character combines (the tests look at each)."""


def nfc(text: str) -> str:
    """Return `text` in NFC; of more than `MOST_MARKS` combining marks in a row the rest is left out."""
    if unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", _long_runs().sub(r"\1", text))


@cache
def _long_runs() -> re.Pattern[str]:
    marks = [code for code in range(_NO_MARKS_FROM) if unicodedata.combining(chr(code))]
    spans: list[list[int]] = []
    for code in marks:
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    inside = "".join(f"{chr(first)}-{chr(last)}" for first, last in spans)
    return re.compile(f"([{inside}]{{{MOST_MARKS}}})[{inside}]+")


class Composed(NamedTuple):
    """A text in NFC, and where in the given text each of its characters begins and ends."""

    text: str
    starts: list[int]
    ends: list[int]

    def given(self, start: int, end: int) -> tuple[int, int]:
        """Return the places in the given text of the characters start..end of the composed one."""
        return (self.starts[start], self.ends[end - 1]) if end > start else (self.starts[start],) * 2


def composed(text: str) -> Composed:
    """Return a text in NFC with the places of its characters; what composes together has the place of the whole."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    follow = _followers()
    begin = 0
    for end in range(1, len(text) + 1):
        if end < len(text) and text[end] in follow:
            continue
        piece = nfc(text[begin:end])
        pieces.append(piece)
        starts += [begin] * len(piece)
        ends += [end] * len(piece)
        begin = end
    return Composed("".join(pieces), starts, ends)


@cache
def _followers() -> frozenset[str]:
    """Return the characters that may compose or change places with what stands before them."""
    found = set()
    for code in range(_NO_MARKS_FROM):
        character = chr(code)
        parts = unicodedata.decomposition(character).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            found.add(chr(int(parts[1], 16)))
        if unicodedata.combining(character):
            found.add(character)
    return frozenset(found) | set(map(chr, range(0x1161, 0x1200))) | set(map(chr, range(0xD7B0, 0xD7FC)))
