"""Embedded match: the words of a benchmark sentence stand in the corpus sentence, all of them, in a row.

BM25 needs several terms to mean anything, so short benchmark sentences ("식기세척기도 있습니다.") are below its floors;
but in a longer sentence they are found by their words in order, which unrelated text hardly repeats.

A benchmark sentence is filed under the hash of its first words, at most HEAD of them; the words after those are then
compared one by one. Legend: D benchmark sentences, K distinct heads, P benchmark sentences by head, W words,
N corpus sentences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from data.decontaminate.hashtable import HashTable, build_hash_table, find_slot
from data.decontaminate.terms import MULTIPLIER, FoldedText, Terms, hash_words, mix

HEAD = 3
"""Words by which a benchmark sentence is looked up: three in a row are rare, and shorter sentences have fewer."""
MIN_WORDS = 2
"""A benchmark sentence of a single word is not searched inside others: the word says nothing about its origin."""


class EmbeddedIndex(NamedTuple):
    """The benchmark's sentences by their first words."""

    heads: HashTable
    first_sentence_K: NDArray[np.int64]
    """K + 1 offsets into the sentences by head."""
    sentence_P: NDArray[np.int32]
    hash_W: NDArray[np.uint64]
    """Word hashes of all benchmark sentences."""
    first_word_D: NDArray[np.int64]
    """D + 1 offsets into the word hashes."""


def build_embedded_index(text: FoldedText, min_characters: NDArray[np.integer]) -> EmbeddedIndex:
    """Return the index of the sentences with MIN_WORDS words and at least their own `min_characters` letters."""
    words = hash_words(text)
    long_enough = np.diff(text.first_letter_N) >= min_characters
    filed = np.flatnonzero(long_enough & (np.diff(words.first_term_N) >= MIN_WORDS))
    heads = _heads(words.hash_T, words.first_term_N, filed)
    order = np.argsort(heads, kind="stable")
    keys, first = np.unique(heads[order], return_index=True)
    return EmbeddedIndex(
        build_hash_table(keys),
        np.append(first, len(filed)).astype(np.int64),
        filed[order].astype(np.int32),
        words.hash_T,
        words.first_term_N.astype(np.int64),
    )


@njit(cache=True, inline="always")
def _extend(head, word):  # type: ignore[no-untyped-def]
    return mix((head ^ word) * MULTIPLIER)


@njit(cache=True)
def _heads(hashes, first_word, filed):  # type: ignore[no-untyped-def]
    """Return the hash of the first words, HEAD at most, of each filed sentence."""
    heads = np.zeros(len(filed), np.uint64)
    for i in range(len(filed)):
        start = first_word[filed[i]]
        for w in range(start, min(start + HEAD, first_word[filed[i] + 1])):
            heads[i] = _extend(heads[i], hashes[w])
    return heads


def search_embedded(index: EmbeddedIndex, words: Terms) -> NDArray[np.int32]:
    """Return the first benchmark sentence that stands word for word in each corpus sentence, or -1."""
    hits: NDArray[np.int32] = _search(index, words.hash_T, words.first_term_N)
    return hits


@njit(cache=True)
def _search(index, hashes, first_word):  # type: ignore[no-untyped-def]
    best_N = np.full(len(first_word) - 1, -1, np.int32)
    for n in range(len(first_word) - 1):
        end = first_word[n + 1]
        for start in range(first_word[n], end - MIN_WORDS + 1):
            head = np.uint64(0)
            for length in range(1, min(HEAD, end - start) + 1):
                head = _extend(head, hashes[start + length - 1])
                if length < MIN_WORDS:
                    continue
                slot = find_slot(index.heads, head)
                if slot < 0:
                    continue
                for p in range(index.first_sentence_K[slot], index.first_sentence_K[slot + 1]):
                    d = index.sentence_P[p]
                    if best_N[n] >= 0 and best_N[n] <= d:
                        break
                    if _words_follow(index, d, length, hashes, start, end):
                        best_N[n] = d
    return best_N


@njit(cache=True)
def _words_follow(index, d, length, hashes, start, end):  # type: ignore[no-untyped-def]
    """Return whether the words of d after its first `length` follow in the corpus sentence too."""
    first = index.first_word_D[d]
    count = index.first_word_D[d + 1] - index.first_word_D[d]
    if count > end - start or (length < HEAD and count != length):
        return False
    return np.all(index.hash_W[first + length : first + count] == hashes[start + length : start + count])
