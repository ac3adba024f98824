"""Draws that depend on (seed, use, row, purpose) alone, and balanced picks."""

from __future__ import annotations

from collections.abc import Mapping

import xxhash


def draw(seed: int, use: str, row: int, purpose: str) -> int:
    """Return a number of 64 bits, as if drawn evenly.

    Args:
        seed: of the build.
        use: name of the use.
        row: number of the record.
        purpose: what is drawn; the draws of one purpose tell nothing of those of another.
    """
    return xxhash.xxh3_64_intdigest(f"{use}\0{row}\0{purpose}".encode(), seed)


def drawn_order(count: int, seed: int, use: str, row: int, purpose: str) -> list[int]:
    """Return the numbers below `count` in a drawn order."""
    return sorted(range(count), key=lambda n: draw(seed, use, row, f"{purpose} {n}"))


def balanced(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """Return how many to take of each label: equal numbers, and where a label has fewer, more of the others.

    Args:
        sizes: label → how many there are.
        total: how many to take in all, if there are as many.
    """
    taken = dict.fromkeys(sorted(sizes), 0)
    left = min(total, sum(sizes.values()))
    while left:
        open_labels = [label for label in taken if taken[label] < sizes[label]]
        share = max(left // len(open_labels), 1)
        for label in open_labels:
            more = min(share, sizes[label] - taken[label], left)
            taken[label] += more
            left -= more
    return taken
