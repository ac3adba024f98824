"""BM25 as weights: what each term of a benchmark sentence is worth, so that a score is a plain sum of integers.

With the query taken as a set, BM25(q, d) is the sum over the terms that q and d share of

    w(t, d) = idf(t) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · |d| / mean |d|))
    idf(t)  = ln(1 + (N − df + 0.5) / (df + 0.5))                               (the form Lucene uses)

and depends on q only through membership; so BM25(q, d) / BM25(d, d) is the share of d's weight that q contains.
Weights are rounded to integers once (2^-16 of a unit): sums are then exact in any order, and decisions cannot differ
between two ways of adding up.

Legend: D benchmark sentences, E their (sentence, term) entries, K distinct terms.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from data.decontaminate.hashtable import build_hash_table, find_slots
from data.decontaminate.terms import Terms

K1, B = 1.2, 0.75
SCALE = 1 << 16
PARTS = 1_000_000
"""A threshold is taken as so many millionths."""
RANK_BITS = 32
RANK = (1 << RANK_BITS) - 1
"""The rank of a hash, or of an entry in its sentence, below what it is sorted by."""
INSERTED = 64
"""Values up to which they are sorted by insertion."""


def inverse_frequency(frequencies: NDArray[np.int64], documents: int) -> NDArray[np.float64]:
    """Return idf of terms by the number of sentences that hold each, of so many sentences in all."""
    return np.log(1.0 + (documents - frequencies + 0.5) / (frequencies + 0.5))


@njit(cache=True, nogil=True)
def bm25_weights(counts, idf, lengths, mean):  # type: ignore[no-untyped-def]
    """Return the scaled integer weight, at least 1, of each posting.

    Args:
        counts: occurrences tf of the term in its sentence.
        idf: `inverse_frequency` of the term.
        lengths: terms |d| in the posting's sentence, with repetitions.
        mean: mean of |d| over the sentences.
    """
    saturation = counts * (K1 + 1) / (counts + K1 * (1 - B + B * lengths / mean))
    return np.maximum(np.rint(idf * saturation * SCALE), 1).astype(np.int64)


def needed_weight(total: NDArray[np.int64], threshold: float) -> NDArray[np.int64]:
    """Return the least integer weights that make up `threshold` of each total (a decimal: 0.8 means eight tenths)."""
    needed = -(-round(threshold * PARTS) * total // PARTS)
    return np.maximum(needed, 1)


def weigh_terms(
    terms: Terms,
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct hashes, ascending, and how many sentences hold each; the D + 1 offsets into the entries; and
    (rank of the hash, weight) of every entry, by sentence, then heaviest first, then by hash."""
    lengths = np.diff(terms.first_term_N)
    documents = len(lengths)
    keys, _ = np.unique(terms.hash_T, return_counts=True)  # sorts; without counts it hashes, ten times as slow
    ranks = find_slots(build_hash_table(keys), terms.hash_T)
    frequency_K, first_entry_D, rank, counts = _distinct_terms(ranks, terms.first_term_N, len(keys))
    mean = float(lengths.mean()) if documents else 1.0
    idf = inverse_frequency(frequency_K, documents)[rank]
    weight = bm25_weights(counts, idf, np.repeat(lengths, np.diff(first_entry_D)), mean)
    entries = (-weight << RANK_BITS) + rank
    _sort_each(entries, first_entry_D)
    return keys, frequency_K, first_entry_D, entries & RANK, -(entries >> RANK_BITS)


@njit(cache=True, nogil=True)
def _distinct_terms(ranks, first_term, terms):  # type: ignore[no-untyped-def]
    """Return how many sentences hold each of the `terms`; D + 1 offsets; (rank, occurrences) of each one's terms."""
    frequency = np.zeros(terms, np.int64)
    first_entry = np.zeros(len(first_term), np.int64)
    rank = np.empty(len(ranks), np.int64)
    counts = np.empty(len(ranks), np.int64)
    entry_of = np.full(terms, -1, np.int64)  # the last one of each term
    distinct = 0
    for d in range(len(first_term) - 1):
        for t in range(first_term[d], first_term[d + 1]):
            term = ranks[t]
            if entry_of[term] >= first_entry[d]:
                counts[entry_of[term]] += 1
                continue
            entry_of[term] = distinct
            frequency[term] += 1
            rank[distinct] = term
            counts[distinct] = 1
            distinct += 1
        first_entry[d + 1] = distinct
    return frequency, first_entry, rank[:distinct], counts[:distinct]


@njit(cache=True, nogil=True)
def _sort_each(entries, first_entry):  # type: ignore[no-untyped-def]
    for d in range(len(first_entry) - 1):
        sort_values(entries[first_entry[d] : first_entry[d + 1]])


@njit(cache=True, nogil=True)
def sort_values(values):  # type: ignore[no-untyped-def]
    """Sort values in place; insertion is quickest for few of them, and for those that nearly are in order."""
    if len(values) > INSERTED:
        values.sort()
        return
    for i in range(1, len(values)):
        value = values[i]
        j = i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
