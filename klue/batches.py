"""Batches of similar length: less padding, and a function of (seed, epoch) alone.

Shapes: N examples, B examples of a batch, S tokens of the longest example of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

POOL_BATCHES = 50
"""Batches' worth of examples, drawn at random, within which examples are sorted by length."""
MOST_ROWS = 1024
"""Examples of an evaluation batch at most: some heads need memory for each, however short (TRADE, 45 slots)."""


def train_batches(lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Return one epoch's batches of example indices: every example once, similar lengths together; one may be smaller.

    Examples are shuffled, cut into pools of 50 batches, sorted by length within a pool, cut into batches, and the
    batches shuffled, so that the order of lengths is random.

    Args:
        lengths: tokens of each example, (N,).
        epoch: from 0.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths))
    batches: list[np.ndarray] = []
    pool_size = POOL_BATCHES * batch_size
    for start in range(0, len(order), pool_size):
        pool = order[start : start + pool_size]
        pool = pool[np.argsort(-lengths[pool], kind="stable")]
        batches += [pool[i : i + batch_size] for i in range(0, len(pool), batch_size)]
    return [batches[i] for i in random.permutation(len(batches))]


def evaluation_batches(lengths: np.ndarray, tokens: int) -> list[np.ndarray]:
    """Return batches of example indices, longest first, each as large as its first example allows, at most 1,024.

    Args:
        lengths: tokens of each example, (N,), >= 1.
        tokens: of a batch at most, padding included; an example that has more is a batch by itself.
    """
    order = np.argsort(-lengths, kind="stable")
    batches, at = [], 0
    while at < len(order):
        rows = min(MOST_ROWS, max(1, tokens // int(lengths[order[at]])))
        batches.append(order[at : at + rows])
        at += rows
    return batches


def pad(rows: Sequence[np.ndarray], value: int, multiple: int = 1) -> np.ndarray:
    """Return rows of ids as int64, (B, S), filled up with `value`; S is a `multiple` (8 suits tensor cores)."""
    width = -(-max(len(row) for row in rows) // multiple) * multiple
    ids_BS = np.full((len(rows), width), value, dtype=np.int64)
    for i, row in enumerate(rows):
        ids_BS[i, : len(row)] = row
    return ids_BS


def evaluation_steps(steps: int, per_epoch: int) -> list[int]:
    """Return after which steps (from 1) of an epoch the model is scored: evenly spaced, the last at the epoch's end."""
    return sorted({max(1, round(steps * k / per_epoch)) for k in range(1, per_epoch + 1)})


def learning_rate_share(step: int, total: int, warmup_share: float) -> float:
    """Return the share of the peak rate after `step` of `total` steps: linear rise, then linear fall to 0."""
    warmup = int(total * warmup_share)
    if step < warmup:
        return step / max(1, warmup)
    return max(0.0, (total - step) / max(1, total - warmup))
