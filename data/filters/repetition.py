"""The filter `repetition`: texts that say the same again and again, after Gopher (Rae et al. 2021, table A1).

Words are eojeol; shares are of the characters of words, or of lines. Each share is exact but for equal hashes of 64
bits; `tests/data/filters/test_repetition.py` compares them with a slow count of strings.

The bounds were chosen on Korean text of some seventy sources: Gopher's own would drop one in fifteen of its documents,
most of them technical, which say the same words often and are not worse for it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from common.settings import Settings
from data.filters.base import BLANK, CLASSES, Batch, Measure, hash_codes, mix

MAX_DUPLICATE_LINES, MAX_DUPLICATE_LINE_CHARACTERS = 0.5, 0.2
"""Largest share of lines that have occurred before in the document, and of characters in such lines."""
MAX_TOP_NGRAMS = {2: 0.3, 3: 0.27, 4: 0.25}
"""n → largest share of characters that are in the run of n words that takes up most of the text."""
MAX_DUPLICATE_NGRAMS = {5: 0.33, 6: 0.31, 7: 0.29, 8: 0.27, 9: 0.25, 10: 0.23}
"""n → largest share of characters that are in runs of n words that have occurred before in the document."""
MIN_WORDS = 30
"""Documents with fewer words are not judged by runs of words: two equal words make up much of a short text."""
MAX_CHARACTER_RUNS = 0.3
"""Largest share of characters that are the third or a later one in a run of the same (ㅋㅋㅋㅋ, !!!!, -----)."""


class RepetitionSettings(Settings):
    """Drop documents that repeat themselves: lines, runs of words (in documents of 30 words and more), or one
    character. The bounds are Gopher's, raised for Korean (`data/filters/repetition.py`)."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (
            Measure("duplicate_lines", None, MAX_DUPLICATE_LINES),
            Measure("duplicate_line_characters", None, MAX_DUPLICATE_LINE_CHARACTERS),
            *(Measure(f"top_{n}_gram", None, most) for n, most in sorted(MAX_TOP_NGRAMS.items())),
            *(Measure(f"duplicate_{n}_gram", None, most) for n, most in sorted(MAX_DUPLICATE_NGRAMS.items())),
            Measure("character_runs", None, MAX_CHARACTER_RUNS),
        )

    def scores(self, batch: Batch) -> NDArray[np.float64]:
        words = batch.words
        tops, repeats = (np.array(sorted(chosen), np.int64) for chosen in (MAX_TOP_NGRAMS, MAX_DUPLICATE_NGRAMS))
        lines = _duplicate_lines(batch.codes, *batch.lines)
        grams = _ngrams(words.hashes, words.characters, words.borders, MIN_WORDS, tops, repeats)
        runs = _runs(batch.codes, batch.borders, CLASSES)
        return np.concatenate((lines, grams, runs[:, None]), axis=1)


@njit(cache=True, nogil=True)
def _duplicate_lines(codes, starts, stops, borders):  # type: ignore[no-untyped-def]
    """Return the share of lines, and of their characters, that stood before [D, 2]."""
    shares = np.zeros((len(borders) - 1, 2))
    for document in range(len(borders) - 1):
        first, last = borders[document], borders[document + 1]
        if last - first < 2:
            continue
        size = _table_size(last - first)
        table = np.zeros(size, np.uint64)
        lines = 0
        characters = 0
        whole = 0
        for line in range(first, last):
            key = hash_codes(codes, starts[line], stops[line]) | np.uint64(1)
            slot = key >> np.uint64(8) & np.uint64(size - 1)
            while table[slot] != 0 and table[slot] != key:
                slot = (slot + np.uint64(1)) & np.uint64(size - 1)
            whole += stops[line] - starts[line]
            if table[slot] == key:
                lines += 1
                characters += stops[line] - starts[line]
            table[slot] = key
        shares[document, 0] = lines / (last - first)
        shares[document, 1] = characters / whole
    return shares


@njit(cache=True, nogil=True, inline="always")
def _table_size(entries: int) -> int:
    size = 8
    while size < 2 * entries:
        size *= 2
    return size


@njit(cache=True, nogil=True)
def _ngrams(hashes, characters, borders, min_words, tops, repeats):  # type: ignore[no-untyped-def]
    """Return the shares of characters in the top n-grams and in duplicate n-grams [D, tops + repeats].

    Both lengths ascend: where no run of n words stands twice, none of more words does.
    """
    shares = np.zeros((len(borders) - 1, len(tops) + len(repeats)))
    longest = 1
    for document in range(len(borders) - 1):
        longest = max(longest, borders[document + 1] - borders[document])
    size = _table_size(longest)
    keys = np.zeros(size, np.uint64)
    counts = np.zeros(size, np.int64)
    ends = np.zeros(size, np.int64)
    rounds = np.zeros(size, np.int64)  # an entry of another round is an empty one
    this = 0
    for document in range(len(borders) - 1):
        first, last = borders[document], borders[document + 1]
        if last - first < min_words:
            continue
        whole = characters[first:last].sum()
        mask = np.uint64(_table_size(last - first) - 1)
        for column in range(len(tops)):
            this += 1
            best = _top(hashes, characters, first, last, tops[column], keys, counts, ends, rounds, mask, this)
            if best == 0:
                break
            shares[document, column] = best / whole
        for column in range(len(repeats)):
            this += 1
            repeated = _repeated(hashes, characters, first, last, repeats[column], keys, rounds, mask, this)
            if repeated == 0:
                break
            shares[document, len(tops) + column] = repeated / whole
    return shares


@njit(cache=True, nogil=True, inline="always")
def _gram(hashes: NDArray[np.uint64], place: int, words: int) -> np.uint64:
    key = hashes[place]
    for offset in range(1, words):
        key = key * np.uint64(0x9E3779B97F4A7C15) + hashes[place + offset]
        key ^= key >> np.uint64(32)
    return mix(key)


@njit(cache=True, nogil=True)
def _top(hashes, characters, first, last, words, keys, counts, ends, rounds, mask, this):  # type: ignore[no-untyped-def]
    """Return the characters in the n-gram, said at least twice, that takes most; occurrences do not overlap."""
    best = 0
    for place in range(first, last - words + 1):
        key = _gram(hashes, place, words)
        slot = key & mask
        while rounds[slot] == this and keys[slot] != key:
            slot = (slot + np.uint64(1)) & mask
        if rounds[slot] != this:
            rounds[slot] = this
            keys[slot] = key
            counts[slot] = 1
            ends[slot] = place + words
        elif place >= ends[slot]:
            counts[slot] += 1
            ends[slot] = place + words
            best = max(best, counts[slot] * characters[place : place + words].sum())
    return best


@njit(cache=True, nogil=True)
def _repeated(hashes, characters, first, last, words, keys, rounds, mask, this):  # type: ignore[no-untyped-def]
    """Return the characters in n-grams that stood before; the search continues behind each that is found."""
    total = 0
    place = first
    while place <= last - words:
        key = _gram(hashes, place, words)
        slot = key & mask
        while rounds[slot] == this and keys[slot] != key:
            slot = (slot + np.uint64(1)) & mask
        if rounds[slot] == this:
            total += characters[place : place + words].sum()
            place += words
        else:
            rounds[slot], keys[slot] = this, key
            place += 1
    return total


@njit(cache=True, nogil=True)
def _runs(codes: NDArray[np.uint32], borders: NDArray[np.int64], classes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the share of characters (blanks not counted) that two of the same stand right before [D]."""
    shares = np.zeros(len(borders) - 1)
    for document in range(len(borders) - 1):
        solid, repeated = 0, 0
        for place in range(borders[document], borders[document + 1]):
            code = codes[place]
            if classes[code] & BLANK:
                continue
            solid += 1
            if place >= borders[document] + 2 and codes[place - 1] == code and codes[place - 2] == code:
                repeated += 1
        if solid:
            shares[document] = repeated / solid
    return shares
