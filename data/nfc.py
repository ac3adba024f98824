"""Unicode's composed form (NFC), in linear time whatever the text, and where its characters stood before.

`nfc` composes all of Unicode, as corpora are; `composed` only Hangul and accents, as what tokenizers read.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from functools import cache
from typing import NamedTuple

MOST_MARKS = 30
"""Combining marks kept in a row, as in Unicode's stream-safe text (UAX #15, section 13): no script needs as many, and
to put them in order takes the square of their number."""
_NO_MARKS_FROM = 0x20000
"""First character of the ideographic planes; from there on no character combines (the tests look at each)."""
_DECOMPOSED = re.compile(
    "[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|[가-힣][\u11a8-\u11c2]|[A-Za-z][\u0300-\u036f]+"
)


def nfc(text: str) -> str:
    """Return `text` in NFC; of more than `MOST_MARKS` combining marks in a row the rest is left out."""
    if unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", _long_runs().sub(r"\1", text))


@cache
def _long_runs() -> re.Pattern[str]:
    marks = "".join(filter(unicodedata.combining, map(chr, range(_NO_MARKS_FROM))))
    return re.compile(f"([{marks}]{{{MOST_MARKS}}})[{marks}]+")


class Composed(NamedTuple):
    """A text in NFC, and where in the given text each of its characters begins and ends."""

    text: str
    starts: list[int]
    ends: list[int]

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the places in the given text of the characters start..end of the composed one."""
        return (self.starts[start], self.ends[end - 1]) if end > start else (self.starts[start],) * 2


def nfc_places(text: str) -> Composed:
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
    characters = [chr(code) for code in range(_NO_MARKS_FROM)]
    pairs = (parts for parts in (unicodedata.decomposition(char).split() for char in characters) if len(parts) == 2)
    followers = {chr(int(second, 16)) for first, second in pairs if not first.startswith("<")}
    followers.update(filter(unicodedata.combining, characters))
    return frozenset(followers) | set(map(chr, range(0x1161, 0x1200))) | set(map(chr, range(0xD7B0, 0xD7FC)))


def composed(text: str) -> str:
    r"""Return the text with Hangul and accents composed.

    Nothing else of NFC is done: a text that is composed stays as it is, and so do its tokens.

    >>> len("\u1100\u1161\u11a8"), composed("\u1100\u1161\u11a8") == "\uac01"
    (3, True)
    """
    return text if _DECOMPOSED.search(text) is None else _DECOMPOSED.sub(_compose, text)


def origins(text: str) -> list[int]:
    r"""Return where each character of the composed text begins in the text as given, and the given length.

    >>> origins("\u1100\u1161\u11a8 a")
    [0, 3, 4, 5]
    """
    places: list[int] = []
    done = 0
    for match in _DECOMPOSED.finditer(text):
        places += range(done, match.start() + len(_compose(match)))  # more than one: marks that nothing composes with
        done = match.end()
    return [*places, *range(done, len(text) + 1)]


def composed_span(start: int, end: int, text: str) -> tuple[int, int]:
    """Return where characters start..end of a text stand in the composed text; a character that is cut counts whole."""
    if _DECOMPOSED.search(text) is None:
        return start, end
    at = origins(text)
    return bisect_right(at, start) - 1, bisect_left(at, end)


def _compose(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", match[0])
