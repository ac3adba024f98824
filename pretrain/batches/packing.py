"""Packing: documents put together into samples by best fit, so that little is padded and only long ones are cut.

Shapes: P pieces of documents.
"""

from __future__ import annotations

import numba
import numpy as np

from pretrain.batches.layouts import Groups, document_pieces


def packed(documents: np.ndarray, length: int) -> Groups:
    """Return documents packed into samples by best fit, those longer than a sample cut every length − 2 tokens.

    Best-fit decreasing: Ding et al. 2024, "Fewer Truncations Improve Language Modeling", section 2.2.
    """
    documents = np.asarray(documents)
    pieces_P2 = document_pieces(documents, documents, length - 2)
    sample_P, samples = _best_fit(pieces_P2[:, 1] - pieces_P2[:, 0] + 2, length)
    order = np.argsort(sample_P, kind="stable")
    first = np.concatenate(([0], np.cumsum(np.bincount(sample_P, minlength=samples)))).astype(np.int64)
    return Groups(pieces_P2[order], first)


@numba.njit(cache=True)
def _best_fit(sizes_P: np.ndarray, length: int):  # type: ignore[no-untyped-def]
    """Return the sample of each piece, (P,) int64, and how many samples there are.

    Samples stand in stacks by the room that is left; the fullest one that fits is in the first stack that is not empty.
    """
    sample_P = np.empty(len(sizes_P), np.int64)
    below = np.full(len(sizes_P), -1, np.int64)  # of a sample: the next in its stack
    top = np.full(length + 1, -1, np.int64)
    # counting sort, longest first; equal ones in their order
    starts = np.zeros(length + 2, np.int64)
    for size in sizes_P:
        starts[length - size + 1] += 1
    starts = np.cumsum(starts)
    order = np.empty(len(sizes_P), np.int64)
    for number in range(len(sizes_P)):
        place = length - sizes_P[number]
        order[starts[place]] = number
        starts[place] += 1
    samples = 0
    for piece in order:
        size = int(sizes_P[piece])
        left = size
        while left <= length and top[left] < 0:
            left += 1
        if left > length:
            left = length
            top[left] = samples
            below[samples] = -1
            samples += 1
        sample = int(top[left])
        top[left] = below[sample]
        sample_P[piece] = sample
        below[sample] = top[left - size]
        top[left - size] = sample
    return sample_P, samples
