"""Draws of documents: numbers that depend on (seed, purpose, source, id) alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import xxhash
from numpy.typing import NDArray

Purpose = Literal["held out", "cap", "copies"]
"""What is drawn; the draws of one purpose tell nothing of those of another."""


def draws(sources: Sequence[str], ids: Sequence[str], seed: int, purpose: Purpose) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each document, as if drawn evenly: xxh3_64 of purpose, source and id, / 2^64."""
    hash_of = xxhash.xxh3_64_intdigest
    hashes = [hash_of(f"{purpose}\0{source}\0{id}".encode(), seed) for source, id in zip(sources, ids, strict=True)]
    return (np.array(hashes, np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def copies(rates: NDArray[np.float64], drawn: NDArray[np.float64]) -> NDArray[np.int16]:
    """Return how often each document comes, ⌊rate + draw⌋: the rate on average, and never further than 1 from it."""
    return np.floor(rates + drawn).astype(np.int16)


def cap_threshold(drawn: NDArray[np.float64], sizes: NDArray[np.int64], most: float) -> float:
    """Return the draw below which documents stay so that they hold `most` bytes together, or less.

    Documents of one draw stay or go together.
    """
    order = np.argsort(drawn, kind="stable")
    over = np.flatnonzero(np.cumsum(sizes[order]) > most)
    return float(drawn[order[over[0]]]) if len(over) else 1.0
