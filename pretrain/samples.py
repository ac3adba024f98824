"""Samples: spans of the token shards, and the batches built from them. Nothing is dropped.

Shapes: B samples in the batch, S tokens in a sample (length).
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from tokenizer.shards import TokenShards


@dataclass(frozen=True)
class Batch:
    """Token ids of a batch before masking."""

    ids_BS: np.ndarray
    """int64: [CLS] tokens [SEP], then [PAD]."""
    lengths_B: np.ndarray
    """int64: tokens without padding."""
    cut_first_B: np.ndarray
    """bool: the sample starts inside a word."""
    cut_last_B: np.ndarray
    """bool: the sample ends inside a word."""


class Samples:
    """All samples of a token folder, by index.

    Args:
        shards: the token folder.
        kind: "contiguous" (every length − 2 tokens) or "full-sentences" (whole sentences up to length − 2 tokens;
            a sentence longer than that fills samples of its own).
        length: tokens a sample, special tokens included.
        continues_V: bool; True for pieces that continue a word.
    """

    def __init__(self, shards: TokenShards, kind: str, length: int, continues_V: np.ndarray) -> None:
        self.length, self.kind = length, kind
        self._shards, self._continues = shards, continues_V
        self._cls, self._sep, self._pad = (shards.special_ids[name] for name in ("cls", "sep", "pad"))
        room = length - 2
        self._tokens = [shards.tokens(i) for i in range(len(shards.shards))]
        if kind == "contiguous":
            self._borders = [_even_borders(len(tokens), room) for tokens in self._tokens]
        else:
            self._borders = [sentence_borders(np.asarray(shards.sentences(i)), room) for i in range(len(self._tokens))]
        self._first = np.concatenate([[0], np.cumsum([len(b) - 1 for b in self._borders])]).astype(np.int64)

    def __len__(self) -> int:
        return int(self._first[-1])

    @property
    def padding(self) -> float:
        """Share of positions over all samples that hold padding."""
        real = sum(len(t) for t in self._tokens) + 2 * len(self)
        return 1 - real / max(1, len(self) * self.length)

    def batch(self, ids_B: np.ndarray) -> Batch:
        """Return the samples with these ids (int64, each in [0, len(self)))."""
        count = len(ids_B)
        out = np.full((count, self.length), self._pad, np.int64)
        lengths = np.empty(count, np.int64)
        cut_first, cut_last = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        shard_of = np.searchsorted(self._first, ids_B, side="right") - 1
        for row, (sample, shard) in enumerate(zip(ids_B, shard_of, strict=True)):
            tokens, borders = self._tokens[shard], self._borders[shard]
            start, end = borders[sample - self._first[shard]], borders[sample - self._first[shard] + 1]
            size = end - start
            out[row, 0] = self._cls
            out[row, 1 : size + 1] = tokens[start:end]
            out[row, size + 1] = self._sep
            lengths[row] = size + 2
            cut_first[row] = start > 0 and self._continues[tokens[start]]
            cut_last[row] = end < len(tokens) and self._continues[tokens[end]]
        return Batch(out, lengths, cut_first, cut_last)


def _even_borders(tokens: int, room: int) -> np.ndarray:
    borders = np.arange(0, tokens + room, room, dtype=np.int64)
    borders[-1] = tokens
    return borders if tokens else np.zeros(1, np.int64)


@numba.njit(cache=True)
def sentence_borders(sentences: np.ndarray, room: int) -> np.ndarray:
    """Return the borders of samples made of whole sentences, int64 of shape (samples + 1,).

    Args:
        sentences: int64 offsets of the sentences' first tokens, and the end; shape (sentences + 1,).
        room: most tokens a sample can take. A longer sentence is cut every `room` tokens.
    """
    borders = np.empty(len(sentences) + sentences[-1] // room + 2, np.int64)
    borders[0] = 0
    count = 1
    for i in range(1, len(sentences)):
        end = sentences[i]
        if end - borders[count - 1] <= room:
            continue
        if sentences[i - 1] > borders[count - 1]:
            borders[count] = sentences[i - 1]
            count += 1
        while end - borders[count - 1] > room:
            borders[count] = borders[count - 1] + room
            count += 1
    if sentences[-1] > borders[count - 1]:
        borders[count] = sentences[-1]
        count += 1
    return borders[:count].copy()
