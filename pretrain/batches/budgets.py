"""Budgets: how many tokens masking may predict in a sample, on average over the corpus.

Shapes: L samples' length − 1, P texts and N samples of a shard, V vocabulary, K special tokens of a shard.
"""

from __future__ import annotations

import numpy as np

from pretrain.batches.layouts import Parts
from tokenizer.shards import TokenShards


def count_by_ordinary_tokens(shards: TokenShards, parts: Parts, length: int) -> np.ndarray:
    """Return how many samples hold 0, 1, … length − 2 ordinary tokens, (L,) int64; reads every token once."""
    special_V = np.zeros(shards.vocab_size, np.bool_)
    special_V[list(shards.special_ids.values())] = True
    samples_L = np.zeros(length - 1, np.int64)
    for shard in range(len(shards.shards)):
        special_K = np.flatnonzero(special_V[shards.tokens(shard)])
        for layout in (layout for number, layout in parts if number == shard):
            spans_P2, first = layout.every_span()
            special_P = np.diff(np.searchsorted(special_K, spans_P2), axis=1)[:, 0]
            upto = np.concatenate(([0], np.cumsum(spans_P2[:, 1] - spans_P2[:, 0] - special_P)))
            samples_L += np.bincount(np.diff(upto[first]), minlength=length - 1)
    return samples_L


def mean_budget(samples_L: np.ndarray, rate: float) -> float:
    """Return the tokens that masking may predict in a sample, on average, at a masking rate."""
    budgets_L = np.floor(rate * np.arange(len(samples_L)) + 0.5)
    return float(budgets_L @ samples_L / max(1, samples_L.sum()))
