"""BM25 as weights: what each term of a benchmark sentence is worth, so that a score is a plain sum of integers.

With the query taken as a set, BM25(q, d) is the sum over the terms that q and d share of

    w(t, d) = idf(t) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · |d| / mean |d|))
    idf(t)  = ln(1 + (N − df + 0.5) / (df + 0.5))                               (the form Lucene uses)

and depends on q only through membership; so BM25(q, d) / BM25(d, d) is the share of d's weight that q contains.
Weights are rounded to integers once (2^-16 of a unit): sums are then exact in any order, and decisions cannot differ
between two ways of adding up.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

K1, B = 1.2, 0.75
SCALE = 1 << 16
PARTS = 1_000_000
"""A threshold is taken as so many millionths."""


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
