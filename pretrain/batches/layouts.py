"""Layouts: which tokens of a shard make up each sample. Nothing is dropped, whatever the kind.

Shapes: N samples of a shard, K texts of a sample, P texts of all samples.
"""

from __future__ import annotations

from typing import Protocol

import numba
import numpy as np


class Layout(Protocol):
    """The samples of a shard, by index: the spans of tokens that each one holds."""

    apart: bool
    """Whether the texts of a sample are strangers, each with a [CLS] of its own, that do not see each other."""

    def __len__(self) -> int:
        """Return N, the number of samples."""

    def spans(self, sample: int) -> np.ndarray:
        """Return the first token and the end of each text of a sample, (K, 2) int64."""

    def every_span(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the spans of all samples, (P, 2) int64, and where each sample's begin in them, (N + 1,) int64."""

    @property
    def sums(self) -> tuple[int, int]:
        """Positions that are not padding, added up over the runs of them that see each other; and their squares."""


Parts = list[tuple[int, Layout]]
"""(shard, layout of samples over its tokens), in order; a shard may come several times."""


def sums_of(lengths: np.ndarray) -> tuple[int, int]:
    """Return the sum of lengths, and of their squares."""
    return int(lengths.sum()), int((lengths * lengths).sum())


class Borders:
    """Samples of one text each that follow each other without a gap; borders are (N + 1,) int64 offsets in tokens."""

    apart = False

    def __init__(self, borders: np.ndarray) -> None:
        self._borders = borders

    def __len__(self) -> int:
        return len(self._borders) - 1

    def spans(self, sample: int) -> np.ndarray:
        return self._borders[None, sample : sample + 2]

    def every_span(self) -> tuple[np.ndarray, np.ndarray]:
        return np.stack([self._borders[:-1], self._borders[1:]], 1), np.arange(len(self) + 1)

    @property
    def lengths(self) -> np.ndarray:
        """Positions of each sample, (N,)."""
        return np.diff(self._borders) + 2

    @property
    def sums(self) -> tuple[int, int]:
        return sums_of(self.lengths)


class Groups:
    """Samples of pieces of documents, one or several each.

    Args:
        pieces_P2: (P, 2) int64 first token and end of each piece, those of a sample side by side.
        first: (N + 1,) int64; the pieces of sample n are first[n] … first[n + 1] − 1.
    """

    apart = True

    def __init__(self, pieces_P2: np.ndarray, first: np.ndarray, sums: tuple[int, int] | None = None) -> None:
        self.pieces_P2 = pieces_P2
        self.first = first
        self._sums = sums

    def __len__(self) -> int:
        return len(self.first) - 1

    def spans(self, sample: int) -> np.ndarray:
        return np.asarray(self.pieces_P2[self.first[sample] : self.first[sample + 1]])

    def every_span(self) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(self.pieces_P2), np.asarray(self.first)

    @property
    def lengths(self) -> np.ndarray:
        """Positions of each piece, (P,)."""
        return self.pieces_P2[:, 1] - self.pieces_P2[:, 0] + 2

    @property
    def sums(self) -> tuple[int, int]:
        return self._sums or sums_of(self.lengths)


def contiguous(tokens: int, length: int) -> Borders:
    """Return the running text cut every length − 2 tokens."""
    room = length - 2
    borders = np.arange(0, tokens + room, room, dtype=np.int64)
    borders[-1] = tokens
    return Borders(borders if tokens else np.zeros(1, np.int64))


def full_sentences(sentences: np.ndarray, length: int) -> Borders:
    """Return whole consecutive sentences up to length − 2 tokens, across documents (Liu et al. 2019, section 4.2).

    A sentence that does not fit is cut every length − 2 tokens.
    """
    return Borders(sentence_borders(np.asarray(sentences), length - 2))


def doc_sentences(sentences: np.ndarray, documents: np.ndarray, length: int) -> Groups:
    """Return whole consecutive sentences up to length − 2 tokens, never across documents (Liu et al. 2019, 4.2)."""
    pieces_P2 = document_pieces(np.asarray(sentences), np.asarray(documents), length - 2)
    return Groups(pieces_P2, np.arange(len(pieces_P2) + 1))


@numba.njit(cache=True)
def sentence_borders(sentences: np.ndarray, room: int) -> np.ndarray:
    """Return the borders of samples made of whole sentences, int64 of shape (samples + 1,); longer ones are cut.

    `sentences`, like the borders, are offsets of first tokens, and the end.
    """
    borders = np.empty(len(sentences) + sentences[-1] // room + 2, np.int64)
    borders[0] = sentences[0]
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


@numba.njit(cache=True)
def document_pieces(sentences: np.ndarray, documents: np.ndarray, room: int) -> np.ndarray:
    """Return the pieces of at most `room` tokens that documents, without their last [SEP], fall into: (P, 2) int64.

    Pieces end where a sentence does, unless a sentence is longer; "sentences" may be the documents themselves.
    """
    pieces = np.empty((len(sentences) + documents[-1] // room + len(documents), 2), np.int64)
    count = 0
    sentence = 0
    for document in range(len(documents) - 1):
        first, end = documents[document], documents[document + 1] - 1
        start = first
        while sentence < len(sentences) - 1 and sentences[sentence] < documents[document + 1]:
            stop = min(sentences[sentence + 1], end)
            sentence += 1
            if stop - start <= room:
                continue
            before = sentences[sentence - 1]
            if before > start:
                pieces[count, 0], pieces[count, 1] = start, before
                count, start = count + 1, before
            while stop - start > room:
                pieces[count, 0], pieces[count, 1] = start, start + room
                count, start = count + 1, start + room
        if end > start:
            pieces[count, 0], pieces[count, 1] = start, end
            count += 1
    return pieces[:count].copy()
