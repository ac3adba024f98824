"""Order of the samples: position in a run → sample, by arithmetic alone, so that resume needs no replay."""

from __future__ import annotations

import numpy as np

from pretrain.batches.random_numbers import key_of, mix

_ROUNDS = 6


def permute(positions: np.ndarray, size: int, key: int) -> np.ndarray:
    """Return where each position goes under a random permutation of range(size), without building it.

    A balanced Feistel network over the smallest even number of bits that covers `size` (up to 2**62), with cycle
    walking: O(1) memory, any element at once (Black and Rogaway 2002, "Ciphers with arbitrary finite domains").
    """
    positions = np.asarray(positions)
    if positions.size and (positions.min() < 0 or positions.max() >= size):
        raise ValueError(f"positions must lie in [0, {size})")
    half = max(1, (max(size - 1, 1).bit_length() + 1) // 2)
    low = np.uint64((1 << half) - 1)
    shift = np.uint64(half)
    keys = [np.uint64(key_of(key, r)) for r in range(_ROUNDS)]
    out = positions.astype(np.uint64).ravel()
    todo = np.arange(out.size)
    values = out.copy()
    with np.errstate(over="ignore"):
        while todo.size:
            left, right = values >> shift, values & low
            for k in keys:
                left, right = right, left ^ (mix(right + k) & low)
            values = (left << shift) | right
            inside = values < np.uint64(size)
            out[todo[inside]] = values[inside]
            todo, values = todo[~inside], values[~inside]
    return out.astype(np.int64).reshape(positions.shape)


class SampleOrder:
    """The sample at each position of a run, and the samples (a tenth at most) that are held out for validation."""

    def __init__(self, total: int, held_out: int, seed: int) -> None:
        self.seed = seed
        self.total = total
        self.held_out = min(held_out, total // 10)
        self.size = total - self.held_out
        self._split_key = key_of(seed, 0x5EED)

    def train(self, first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (sample ids, epochs), both int64 of shape (count,), for run positions first … first + count − 1.

        Every training sample comes once an epoch; each epoch has its own order. A step begins at
        the place that `pretrain.batches.loader.Loader` computes.
        """
        positions = np.arange(first, first + count, dtype=np.int64)
        epochs, within = positions // self.size, positions % self.size
        ids = np.empty(count, np.int64)
        for epoch in np.unique(epochs):
            here = epochs == epoch
            ids[here] = permute(within[here], self.size, key_of(self.seed, 1, int(epoch)))
        return permute(ids, self.total, self._split_key), epochs

    def validation(self) -> np.ndarray:
        """Return the held-out sample ids, int64 of shape (held_out,)."""
        return permute(np.arange(self.size, self.total, dtype=np.int64), self.total, self._split_key)
