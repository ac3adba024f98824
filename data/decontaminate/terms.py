"""Sentences as arrays: a UTF-16 buffer folded to letters, and the 64-bit hashes of its words and bigrams.

A batch of sentences is one buffer, a line each; nothing here makes a Python object for a sentence. Everything below
the first two functions is compiled (numba, cached on disk). Legend: N sentences, L letters, W words, T terms.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from data.decontaminate.normalise import FIRST_HAN_BEYOND, LAST_HAN_BEYOND, STAND_IN, STAND_INS, fold_table
from data.nfc import nfc

NEWLINE = 10
CHECKED_TOGETHER = 64
"""Sentences that are looked at together for their normal form: enough to make checks cheap."""
FIRST_SYLLABLE = 0x3400
"""Han characters and Hangul syllables begin here; kana and single letters of Hangul stand before."""
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
SHIFT_30 = np.uint64(30)
SHIFT_27 = np.uint64(27)
SHIFT_31 = np.uint64(31)
SHIFT_32 = np.uint64(32)


class FoldedText(NamedTuple):
    """A batch of sentences, folded as `normalise` says, blanks and left-out characters gone."""

    letters_L: NDArray[np.uint16]
    first_letter_N: NDArray[np.int32]
    """N + 1 offsets into the letters."""
    word_start_W: NDArray[np.int32]
    """W + 1 offsets into the letters: where each word starts; the last is L."""
    first_word_N: NDArray[np.int32]
    """N + 1 offsets into the words."""


class Terms(NamedTuple):
    """The term hashes of a batch of sentences, with repetitions, in the order of the text."""

    hash_T: NDArray[np.uint64]
    first_term_N: NDArray[np.int32]
    """N + 1 offsets into the hashes."""


def fold_sentences(sentences: list[str]) -> FoldedText:
    """Return the sentences (below 2^31 characters in all) folded to letters, with the bounds of sentences and words."""
    if not sentences:
        return FoldedText(np.empty(0, np.uint16), np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32))
    blocks = ["\n".join(sentences[n : n + CHECKED_TOGETHER]) for n in range(0, len(sentences), CHECKED_TOGETHER)]
    joined = "\n".join(blocks)
    if joined.count("\n") != len(sentences) - 1:
        return fold_sentences([sentence.replace("\n", " ") for sentence in sentences])
    if not unicodedata.is_normalized("NFC", joined):
        # few sentences need it, and a check is several times cheaper than a normalisation
        joined = "\n".join(
            block if unicodedata.is_normalized("NFC", block) else "\n".join(map(nfc, block.split("\n")))
            for block in blocks
        )
    # a lone surrogate becomes "?", which is left out like the surrogate itself
    buffer = np.frombuffer((joined + "\n").encode("utf-16-le", "replace"), np.dtype("<u2"))
    return FoldedText(*fold_buffer(buffer, len(sentences), fold_table()))


def take_sentences(text: FoldedText, chosen_N: NDArray[np.bool_]) -> FoldedText:
    """Return the chosen sentences of a batch, as folding them alone would give them."""
    letters_N = np.diff(text.first_letter_N)
    words_N = np.diff(text.first_word_N)
    words = np.diff(text.word_start_W)[np.repeat(chosen_N, words_N)]
    return FoldedText(
        text.letters_L[np.repeat(chosen_N, letters_N)],
        *(
            np.append(0, np.cumsum(counts)).astype(np.int32)
            for counts in (letters_N[chosen_N], words, words_N[chosen_N])
        ),
    )


def count_syllables(text: FoldedText) -> NDArray[np.int64]:
    """Return how long each sentence is in syllables: three letters of another script (Latin, digits, ㅋ) make one."""
    syllables = np.append(0, np.cumsum(text.letters_L >= FIRST_SYLLABLE, dtype=np.int32))[text.first_letter_N]
    return np.diff(2 * syllables + text.first_letter_N) // 3


def hash_words(text: FoldedText) -> Terms:
    """Return the hashes of the words of each sentence."""
    return Terms(_hash_runs(text.letters_L, text.word_start_W), text.first_word_N)


def hash_bigrams(text: FoldedText) -> Terms:
    """Return the hashes of the pairs of neighbouring letters inside words, for each sentence."""
    return Terms(*_hash_bigrams(text.letters_L, text.word_start_W, text.first_word_N))


def hash_sentences(text: FoldedText) -> NDArray[np.uint64]:
    """Return one hash for each sentence, of all its letters: equal for an exact match."""
    return _hash_runs(text.letters_L, text.first_letter_N)


@njit(cache=True, nogil=True)
def fold_buffer(buffer, sentences, table):  # type: ignore[no-untyped-def]
    """Return the fields of a FoldedText for a UTF-16 buffer of `sentences` lines, each ended by a newline."""
    letters = np.empty(len(buffer), np.uint16)
    word_start = np.empty(len(buffer) // 2 + 2, np.int32)  # a word takes two places, its blank among them
    first_letter = np.zeros(sentences + 1, np.int32)
    first_word = np.zeros(sentences + 1, np.int32)
    count = words = sentence = 0
    inside = False
    for position in range(len(buffer)):
        unit = np.int64(buffer[position])
        if unit == NEWLINE:
            sentence += 1
            first_letter[sentence] = count
            first_word[sentence] = words
            inside = False
            continue
        letter = unit if 0xAC00 <= unit <= 0xD7A3 else np.int64(table[unit])
        if 0xDC00 <= unit <= 0xDFFF:  # the second half of a character beyond the table
            code = 0x10000 + ((np.int64(buffer[position - 1]) & 0x3FF) << 10) + (unit & 0x3FF)
            letter = np.int64(STAND_IN + code % STAND_INS if FIRST_HAN_BEYOND <= code <= LAST_HAN_BEYOND else 0)
        if letter > 1:
            if not inside:
                word_start[words] = count
                words += 1
                inside = True
            letters[count] = letter
            count += 1
        elif letter == 1:
            inside = False
    word_start[words] = count
    return letters[:count], first_letter, word_start[: words + 1], first_word


@njit(cache=True)
def mix(value):  # type: ignore[no-untyped-def]
    """Return a 64-bit value with its bits mixed; one to one."""
    value = (value ^ (value >> SHIFT_30)) * MIX_1
    value = (value ^ (value >> SHIFT_27)) * MIX_2
    return value ^ (value >> SHIFT_31)


@njit(cache=True)
def hash_run(letters, start, end):  # type: ignore[no-untyped-def]
    """Return the 64-bit hash of a run of letters."""
    value = np.uint64(end - start)
    for i in range(start, end):
        value = (value ^ np.uint64(letters[i])) * MULTIPLIER
        value ^= value >> SHIFT_32
    return mix(value)


def hash_lines(text: FoldedText) -> NDArray[np.uint64]:
    """Return one hash for each sentence, of its words in order: equal for the same words."""
    return _hash_lists(hash_words(text).hash_T, text.first_word_N)


@njit(cache=True)
def _hash_lists(hashes, bounds):  # type: ignore[no-untyped-def]
    lists = np.empty(len(bounds) - 1, np.uint64)
    for i in range(len(lists)):
        value = np.uint64(bounds[i + 1] - bounds[i])
        for j in range(bounds[i], bounds[i + 1]):
            value = mix((value ^ hashes[j]) * MULTIPLIER)
        lists[i] = value
    return lists


@njit(cache=True, nogil=True)
def _hash_runs(letters, bounds):  # type: ignore[no-untyped-def]
    hashes = np.empty(len(bounds) - 1, np.uint64)
    for i in range(len(hashes)):
        hashes[i] = hash_run(letters, bounds[i], bounds[i + 1])
    return hashes


@njit(cache=True, nogil=True)
def _hash_bigrams(letters, word_start, first_word):  # type: ignore[no-untyped-def]
    hashes = np.empty(len(letters), np.uint64)
    first_term = np.zeros(len(first_word), np.int32)
    count = 0
    for sentence in range(len(first_word) - 1):
        for word in range(first_word[sentence], first_word[sentence + 1]):
            for i in range(word_start[word], word_start[word + 1] - 1):
                pair = (np.uint64(letters[i]) << np.uint64(16)) | np.uint64(letters[i + 1])
                hashes[count] = mix(pair * MULTIPLIER)
                count += 1
        first_term[sentence + 1] = count
    return hashes[:count], first_term
