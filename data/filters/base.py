"""What filters are made of: a batch of documents as arrays, and measures of a document, each a number with bounds.

The arrays, which the filters share, are code points, words (eojeol) and lines, each made when asked. Characters have
classes, in a table that compiled code reads: blank, letter, Hangul, digit, a sign of code.

Shapes: C characters of all documents, D documents, W words, L lines.
"""

from __future__ import annotations

from functools import cached_property
from itertools import compress
from typing import NamedTuple, Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from data.readers.records import Document

NEW_LINE = 10
BLANK = 1
LETTER = 2
HANGUL = 4
DIGIT = 8
CODE_SIGN = 16
"""Bits of a class. Hangul letters, jamo among them, have the bit of letters, too."""
LAST = 0x33480
"""First code point after the last letter, digit or blank (Unicode 16)."""
CODE_SIGNS = "{}[]()<>=;_\\|&$#@`+*/^~%:"
"""Signs that stand close together in programs, commands, addresses and tables."""
_HANGUL = ((0xAC00, 0xD7A3), (0x3131, 0x318E), (0x1100, 0x11FF), (0xA960, 0xA97C), (0xD7B0, 0xD7FB), (0xFFA0, 0xFFDC))


def _classes() -> NDArray[np.uint8]:
    table = np.zeros(0x110000, np.uint8)
    for code in range(LAST):
        character = chr(code)
        if character.isalpha():
            table[code] = LETTER
        elif character.isspace():
            table[code] = BLANK
        elif character.isdigit():
            table[code] = DIGIT
    for first, last in _HANGUL:
        table[first : last + 1] |= HANGUL | LETTER
    for sign in CODE_SIGNS:
        table[ord(sign)] |= CODE_SIGN
    return table


CLASSES = _classes()
"""Code point → bits, uint8 [0x110000]."""


class Words(NamedTuple):
    """The words of a batch, as `str.split()` cuts."""

    hashes: NDArray[np.uint64]
    """[W] of the word's characters."""
    characters: NDArray[np.int64]
    """[W] characters of each word."""
    borders: NDArray[np.int64]
    """[D + 1] where the words of each document begin."""


class Lines(NamedTuple):
    """The lines of a batch that are not blank, without the blanks at their ends."""

    starts: NDArray[np.int64]
    """[L] places in `Batch.codes`."""
    stops: NDArray[np.int64]
    """[L] places in `Batch.codes`."""
    borders: NDArray[np.int64]
    """[D + 1] where the lines of each document begin."""


class Batch:
    """Some documents and the cleaned text of each; the text of the documents themselves is not read."""

    def __init__(self, documents: list[Document], texts: list[str]) -> None:
        self.documents, self.texts = documents, texts

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, keep: NDArray[np.bool_]) -> Batch:
        """Return the documents that a mask [D] keeps."""
        chosen = keep.tolist()
        return Batch(list(compress(self.documents, chosen)), list(compress(self.texts, chosen)))

    @cached_property
    def codes(self) -> NDArray[np.uint32]:
        """The code points of all texts, one after another [C]."""
        return np.frombuffer("".join(self.texts).encode("utf-32-le", "surrogatepass"), np.uint32)

    @cached_property
    def borders(self) -> NDArray[np.int64]:
        """Where the code points of each text begin [D + 1]."""
        lengths = np.fromiter(map(len, self.texts), np.int64, len(self.texts))
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))

    @cached_property
    def words(self) -> Words:
        return Words(*_find_words(self.codes, self.borders, CLASSES))

    @cached_property
    def lines(self) -> Lines:
        return Lines(*_find_lines(self.codes, self.borders, CLASSES))


class Measure(NamedTuple):
    """A number that a filter gives every document, and the bounds within which a document is kept."""

    name: str
    low: float | None = None
    high: float | None = None

    def refuses(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which values are out of bounds."""
        refused = np.zeros(len(values), bool)
        if self.low is not None:
            refused |= values < self.low
        if self.high is not None:
            refused |= values > self.high
        return refused


class Filter(Protocol):
    """A filter ready to work: it can be pickled, and what it gives depends on the documents alone."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, in the order in which they drop documents."""

    def scores(self, batch: Batch) -> NDArray[np.float64]:
        """Return the value of each measure for each document [D, measures]."""


def share(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return part / whole, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


@njit(cache=True, nogil=True)
def hash_codes(codes: NDArray[np.uint32], start: int, stop: int) -> np.uint64:
    """Return 64 bits that tell runs of code points apart."""
    state = np.uint64(0x9E3779B97F4A7C15)
    for place in range(start, stop):
        state = step(state, codes[place])
    return mix(state)


@njit(cache=True, nogil=True, inline="always")
def step(state: np.uint64, code: np.uint32) -> np.uint64:
    """Return the number with a code point taken in; `mix` ends a run of them."""
    state = (state ^ np.uint64(code)) * np.uint64(0x100000001B3)
    return state ^ (state >> np.uint64(29))


@njit(cache=True, nogil=True, inline="always")
def mix(value: np.uint64) -> np.uint64:
    """Return the number with all of its bits stirred (the last steps of MurmurHash3)."""
    value = (value ^ (value >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    value = (value ^ (value >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return value ^ (value >> np.uint64(33))


@njit(cache=True, nogil=True)
def _find_words(codes, borders, classes):  # type: ignore[no-untyped-def]
    most = len(codes) // 2 + len(borders)
    hashes = np.empty(most, np.uint64)
    characters = np.empty(most, np.int64)
    firsts = np.zeros(len(borders), np.int64)
    count = 0
    for document in range(len(borders) - 1):
        place, stop = borders[document], borders[document + 1]
        while place < stop:
            if classes[codes[place]] & BLANK:
                place += 1
                continue
            start = place
            state = np.uint64(0x9E3779B97F4A7C15)
            while place < stop and not classes[codes[place]] & BLANK:
                state = step(state, codes[place])
                place += 1
            hashes[count] = mix(state)
            characters[count] = place - start
            count += 1
        firsts[document + 1] = count
    return hashes[:count], characters[:count], firsts


@njit(cache=True, nogil=True)
def _find_lines(codes, borders, classes):  # type: ignore[no-untyped-def]
    most = 0
    for place in range(len(codes)):
        most += codes[place] == NEW_LINE
    most += len(borders)
    starts = np.empty(most, np.int64)
    stops = np.empty(most, np.int64)
    firsts = np.zeros(len(borders), np.int64)
    count = 0
    for document in range(len(borders) - 1):
        place, stop = borders[document], borders[document + 1]
        while place < stop:
            end = place
            while end < stop and codes[end] != NEW_LINE:
                end += 1
            first, last = place, end
            while first < last and classes[codes[first]] & BLANK:
                first += 1
            while last > first and classes[codes[last - 1]] & BLANK:
                last -= 1
            if last > first:
                starts[count], stops[count] = first, last
                count += 1
            place = end + 1
        firsts[document + 1] = count
    return starts[:count], stops[:count], firsts
