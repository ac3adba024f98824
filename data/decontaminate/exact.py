"""Exact match: the corpus sentence is a benchmark sentence, whatever its blanks, punctuation and case."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from data.decontaminate.hashtable import HashTable, build_hash_table, find_slot
from data.decontaminate.terms import FoldedText, hash_sentences


class ExactIndex(NamedTuple):
    """Hashes of K distinct texts and the first benchmark sentence that has each."""

    texts: HashTable
    sentence_K: NDArray[np.int32]


def build_exact_index(text: FoldedText, min_characters: NDArray[np.integer]) -> ExactIndex:
    """Return the index of the benchmark sentences that have at least their own `min_characters` letters (≥ 1)."""
    eligible = np.flatnonzero(np.diff(text.first_letter_N) >= min_characters)
    keys, first = np.unique(hash_sentences(text)[eligible], return_index=True)
    return ExactIndex(build_hash_table(keys), eligible[first].astype(np.int32))


@njit(cache=True)
def search_exact(index, hashes):  # type: ignore[no-untyped-def]
    """Return the benchmark sentence with the same text, or -1, for each corpus sentence's hash."""
    best = np.full(len(hashes), -1, np.int32)
    for n in range(len(hashes)):
        slot = find_slot(index.texts, hashes[n])
        if slot >= 0:
            best[n] = index.sentence_K[slot]
    return best
