"""Dynamic whole-word masking as a pure function of (seed, epoch, sample, rate).

Shapes: B samples in the batch, S tokens in a sample, M largest number of predicted tokens a sample, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from pretrain.batches.predictions import IGNORE, MaskedBatch, rows_for
from pretrain.batches.random_numbers import GOLDEN, below, key_of, mix, next_bits, unit

VALIDATION_EPOCH = 2**40
"""Epoch number under which validation masks are drawn: no training epoch reaches it."""


@dataclass(frozen=True)
class MaskTable:
    """The properties of a vocabulary that masking needs.

    Args:
        continues_V: bool; True for pieces that continue a word (##…).
        special_V: bool; True for tokens that are never masked and never a replacement ([CLS], [PAD], [UNK], unused …).
        mask_id: id of [MASK].
    """

    continues_V: np.ndarray
    special_V: np.ndarray
    mask_id: int

    @property
    def ordinary(self) -> np.ndarray:
        """Return the ids that may stand in as random replacements, int64, ascending."""
        return np.flatnonzero(~self.special_V)


def mask_batch(
    ids_BS: np.ndarray,
    unmaskable_BS: np.ndarray,
    sample_ids_B: np.ndarray,
    epochs_B: np.ndarray,
    table: MaskTable,
    seed: int,
    rate: float = 0.15,
    mask_share: float = 0.8,
    random_share: float = 0.1,
    whole_word: bool = True,
    max_word_tokens: int | None = None,
    rows: int | None = None,
) -> MaskedBatch:
    """Return the batch with words masked; each sample's result depends on (seed, its epoch, its id, rate) alone.

    The budget of a sample is `rate` × its ordinary tokens, rounded, counted in *tokens*. Words are visited in random
    order; one that no longer fits is passed over (as in the original BERT code), so the budget is met to within a word
    and never exceeded. Of a word of more than `max_word_tokens`, one span of so many is taken, anywhere in it (a sample
    of such words alone may have less than its budget). Each predicted token becomes [MASK], a random ordinary entry, or
    stays, by its own draw.

    Args:
        unmaskable_BS: bool; tokens of words that the sample holds only in part: they are not masked.
        rows: M, at least what the rate needs; None for just that.
    """
    if not 0 < rate < 1:
        raise ValueError(f"rate must lie in (0, 1), not {rate}")
    count, length = ids_BS.shape
    budget = rows_for(length, rate)
    out = np.array(ids_BS, np.int64, copy=True)
    rows_BM = np.zeros((count, rows or budget), np.int64)
    labels_BM = np.full((count, rows or budget), IGNORE, np.int64)
    with np.errstate(over="ignore"):
        keys = mix(np.uint64(key_of(seed, 2)) + epochs_B.astype(np.uint64) * GOLDEN)
        keys = mix(keys + sample_ids_B.astype(np.uint64))
    ordinary = table.ordinary
    if ordinary.size == 0:
        raise ValueError("the vocabulary has no ordinary entries")
    _mask_rows(
        out, rows_BM, labels_BM, keys, unmaskable_BS, table.continues_V, table.special_V, ordinary,
        table.mask_id, rate, mask_share, mask_share + random_share, whole_word, max_word_tokens or length,
    )  # fmt: skip
    return MaskedBatch(out, rows_BM, labels_BM, count * budget)


@numba.njit(cache=True, nogil=True)
def _mask_rows(  # type: ignore[no-untyped-def]
    ids, rows, labels, keys, unmaskable, continues, special, ordinary,
    mask_id, rate, until_mask, until_random, whole_word, longest,
):  # fmt: skip
    count, length = ids.shape
    capacity = rows.shape[1]
    starts = np.empty(length + 1, np.int64)
    ends = np.empty(length + 1, np.int64)
    chosen = np.empty(length, np.bool_)
    for b in range(count):
        words = 0
        tokens = 0
        inside = False
        for t in range(length):
            token = ids[b, t]
            if special[token]:
                inside = False
                continue
            tokens += 1
            if whole_word and continues[token] and inside:
                ends[words - 1] = t + 1
            else:
                starts[words], ends[words] = t, t + 1
                words += 1
            inside = True
        for w in range(words - 1, -1, -1):  # the last kept word moves into the place of an unmaskable one
            if unmaskable[b, starts[w]]:
                words -= 1
                starts[w], ends[w] = starts[words], ends[words]
        budget = min(capacity, np.int64(rate * tokens + 0.5))
        chosen[:] = False
        state = keys[b]
        taken = 0
        for w in range(words):
            if taken == budget:
                break
            state, bits = next_bits(state)
            swap = w + below(bits, words - w)
            starts[w], starts[swap] = starts[swap], starts[w]
            ends[w], ends[swap] = ends[swap], ends[w]
            size = min(longest, ends[w] - starts[w])
            if taken + size > budget:
                continue
            taken += size
            first = starts[w]
            if size < ends[w] - first:
                state, bits = next_bits(state)
                first += below(bits, ends[w] - first - size + 1)
            chosen[first : first + size] = True
        row = 0
        for t in range(length):
            if not chosen[t]:
                continue
            rows[b, row] = t
            labels[b, row] = ids[b, t]
            row += 1
            state, bits = next_bits(state)
            draw = unit(bits)
            if draw < until_mask:
                ids[b, t] = mask_id
            elif draw < until_random:
                state, bits = next_bits(state)
                ids[b, t] = ordinary[below(bits, ordinary.size)]
