"""A source-balanced, seeded sample of documents: which share of each source to take, and which documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import xxhash


def source_shares(sizes: Mapping[str, int], budget: float) -> dict[str, float]:
    """Return the share (0 to 1) of each source to take so that about `budget` bytes are taken in all.

    Filled like water: no source gives more than a common level, and a source below the level is taken whole, so
    small sources are never thinned for the sake of a large one.

    >>> source_shares({"news": 900, "talk": 100}, budget=400)
    {'news': 0.3333333333333333, 'talk': 1.0}
    """
    left, shares = float(budget), {}
    by_size = sorted(sizes, key=lambda name: (sizes[name], name))
    for position, name in enumerate(by_size):
        level = left / (len(by_size) - position)
        taken = min(float(sizes[name]), level)
        shares[name] = taken / sizes[name] if sizes[name] else 1.0
        left -= taken
    return {name: shares[name] for name in sizes}


class Sample(NamedTuple):
    """The choice of documents to train on and to hold out: a function of (seed, key), whatever the order."""

    shares: dict[str, float]
    """Share of each source to train on."""
    held_out: float
    """Share of all documents that is never trained on."""
    seed: int

    def trains(self, source: str, key: str) -> bool:
        """Return whether the document of this key is trained on."""
        return self._draw(key) < self.shares[source] * (1 - self.held_out)

    def holds_out(self, key: str) -> bool:
        """Return whether the document of this key is held out."""
        return self._draw(key) >= 1 - self.held_out

    def _draw(self, key: str) -> float:
        return xxhash.xxh3_64_intdigest(key.encode(), seed=self.seed & (2**64 - 1)) / 2.0**64
