"""Samples: texts of the token shards laid out in rows of one length, and the batches built from them.

Shapes: B samples in the batch, S tokens in a sample (length), K texts in a sample, T tokens of a shard.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numba
import numpy as np

from pretrain.batches.layouts import Parts
from tokenizer.shards import TokenShards


@dataclass(frozen=True)
class Batch:
    """Token ids of a batch before masking."""

    ids_BS: np.ndarray
    """int64: [CLS] tokens [SEP], or several such, or a pair; then [PAD]."""
    lengths_B: np.ndarray
    """int64: tokens without padding."""
    segment_ids_BS: np.ndarray
    """int64: number of the text, from 0, that a position belongs to, special tokens too; −1: padding."""
    unmaskable_BS: np.ndarray
    """bool: tokens of words that the sample holds only in part."""
    follows_B: np.ndarray
    """bool: there are two texts and the second is what follows the first in its document."""
    counted_B: np.ndarray
    """bool: False for samples that only give a batch its full size and add to no sum."""

    @property
    def tokens(self) -> int:
        """Return the positions, without padding, of the samples that count."""
        return int(self.lengths_B[self.counted_B].sum())

    @property
    def padded(self) -> bool:
        """Return whether any position is padding."""
        return bool((self.lengths_B < self.ids_BS.shape[1]).any())


def filled(batch: Batch) -> Batch:
    """Return a batch whose last texts take the padding of their samples: as large as any of its kind can be."""
    count, length = batch.ids_BS.shape
    segment_ids_BS = np.where(
        batch.segment_ids_BS < 0, batch.segment_ids_BS.max(1, keepdims=True), batch.segment_ids_BS
    )
    return replace(batch, segment_ids_BS=segment_ids_BS, lengths_B=np.full(count, length, np.int64))


class SampleSet:
    """All samples of a token folder, by index."""

    def __init__(self, shards: TokenShards, parts: Parts, length: int, continues_V: np.ndarray) -> None:
        self.length = length
        self._parts = parts
        self._continues = continues_V
        self._cls, self._sep, self._pad = (shards.special_ids[name] for name in ("cls", "sep", "pad"))
        # as plain arrays: compiled code takes a memory map for another type
        self._tokens = [np.asarray(shards.tokens(i)) for i in range(len(shards.shards))]
        self._first = np.concatenate([[0], np.cumsum([len(layout) for _, layout in self._parts])]).astype(np.int64)

    def __len__(self) -> int:
        return int(self._first[-1])

    @cached_property
    def _sums(self) -> tuple[int, int]:
        """Sum of the lengths of all runs of positions that see each other, and of their squares."""
        sums = [layout.sums for _, layout in self._parts]
        return sum(positions for positions, _ in sums), sum(squares for _, squares in sums)

    @property
    def positions(self) -> int:
        """Positions over all samples that are not padding."""
        return self._sums[0]

    @property
    def texts(self) -> int:
        """Runs of positions that see each other, over all samples."""
        return sum(len(layout.every_span()[0]) if layout.apart else len(layout) for _, layout in self._parts)

    @property
    def attention_span(self) -> float:
        """Mean over positions of how many positions theirs sees: E[length²] / E[length]."""
        return self._sums[1] / max(1, self._sums[0])

    @property
    def padding(self) -> float:
        """Share of positions over all samples that hold padding."""
        return 1 - self.positions / max(1, len(self) * self.length)

    def batch(self, ids_B: np.ndarray) -> Batch:
        """Return the samples with these ids (int64, each in [0, len(self)))."""
        count = len(ids_B)
        out = np.full((count, self.length), self._pad, np.int64)
        texts = np.full((count, self.length), -1, np.int64)
        unmaskable = np.zeros((count, self.length), np.bool_)
        lengths = np.empty(count, np.int64)
        follows = np.zeros(count, np.bool_)
        part_of = np.searchsorted(self._first, ids_B, side="right") - 1
        for row, (sample, part) in enumerate(zip(ids_B, part_of, strict=True)):
            shard, layout = self._parts[part]
            spans_K2 = layout.spans(sample - self._first[part])
            lengths[row] = _lay_out(
                self._tokens[shard], spans_K2, self._continues, self._cls, self._sep, layout.apart,
                out[row], texts[row], unmaskable[row],
            )  # fmt: skip
            follows[row] = len(spans_K2) == 2 and not layout.apart and spans_K2[0, 1] == spans_K2[1, 0]
        return Batch(out, lengths, texts, unmaskable, follows, np.ones(count, np.bool_))


@numba.njit(cache=True, nogil=True)
def _lay_out(tokens_T, spans_K2, continues_V, cls, sep, apart, ids_S, texts_S, unmaskable_S):  # type: ignore[no-untyped-def]
    """Write a sample into its row and return the positions it takes: [CLS] text [SEP] (text [SEP])…."""
    at = 0
    for text in range(len(spans_K2)):
        begin = at
        if text == 0 or apart:
            ids_S[at] = cls
            at += 1
        start, end = spans_K2[text]
        for source in range(start, end):
            ids_S[at] = tokens_T[source]
            at += 1
        if end > start and end < len(tokens_T) and continues_V[tokens_T[end]]:
            inner = at - 1
            while inner > at - (end - start) and continues_V[ids_S[inner]]:
                inner -= 1
            unmaskable_S[inner:at] = True
        if start > 0:  # a text that begins with the rest of a word
            inner = at - (end - start)
            while inner < at and continues_V[ids_S[inner]]:
                unmaskable_S[inner] = True
                inner += 1
        ids_S[at] = sep
        at += 1
        texts_S[begin:at] = text
    return at
