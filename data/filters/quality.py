"""The filter `quality`: a classifier of good and bad texts, trained by the user: hashed n-grams, logistic regression.

Features of a document are its words, pairs of words, and runs of 3 and 4 characters within a word, as fastText has them
(Joulin et al. 2017), each hashed to one of 2^`bits` buckets. Its value is P(good) = σ(bias + Σ weights / features).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray
from pydantic import Field

from common.files import sha256_file
from common.settings import Settings
from data.filters.batch import Batch, mix, step
from data.filters.characters import BLANK, CLASSES
from data.filters.measure import Measure
from data.filters.ngram_model import read_model
from data.filters.symbol_table import folded

KIND = "hunmin quality 1"
RUNS = (3, 4)
"""Characters of the runs within a word."""


class QualitySettings(Settings):
    """Drop documents that a classifier considers bad."""

    model: str = Field(min_length=1)
    """File that `hunmin corpus train-quality` wrote."""
    min_good: float = Field(0.1, ge=0, le=1)
    """Minimum probability of being good. 0.1 drops only what the classifier is sure is bad: text of a kind that it has
    not learned is near 0.5, and a corpus of good texts alone narrows what a model knows."""

    def load(self) -> QualityFilter:
        """Return the filter with its model read.

        Raises:
            UserError: the model is missing or is none.
        """
        path = Path(self.model)
        _, arrays = read_model(path, KIND, "hunmin corpus train-quality")
        return QualityFilter(self, arrays["weights"], float(arrays["bias"][0]), sha256_file(path))


@dataclass(frozen=True)
class QualityFilter:
    """See `QualitySettings`. Measure: good."""

    settings: QualitySettings
    weights: NDArray[np.float32]
    bias: float
    fingerprint: str

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The one measure."""
        return (Measure("good", self.settings.min_good),)

    def scores(self, batch: Batch) -> NDArray[np.float64]:
        """Return the probability that a document is good [D, 1]; 0.5 of one without words."""
        means, counts = _mean_weights(folded(batch.codes), batch.borders, CLASSES, self.weights)
        margins = np.where(counts > 0, self.bias + means, 0)
        result: NDArray[np.float64] = (1 / (1 + np.exp(-margins)))[:, None]
        return result


def buckets_of(batch: Batch, bits: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the buckets, of 2^bits, of all features of a batch, and where those of each document begin [D + 1]."""
    return _buckets(folded(batch.codes), batch.borders, CLASSES, (1 << bits) - 1)


@njit(cache=True, nogil=True)
def _features(codes, start, stop, classes, mask, out):  # type: ignore[no-untyped-def]
    """Write the buckets of a document's features, and return how many there are: at most 4 a character."""
    count, place, before = 0, start, np.uint64(0)
    while place < stop:
        if classes[codes[place]] & BLANK:
            place += 1
            continue
        end = place
        whole = np.uint64(0x9E3779B97F4A7C15)
        while end < stop and not classes[codes[end]] & BLANK:
            whole = step(whole, codes[end])
            end += 1
        out[count] = np.int32(mix(whole) & mask)
        count += 1
        if before:
            out[count] = np.int32(mix(before * np.uint64(0xFF51AFD7ED558CCD) ^ whole) & mask)
            count += 1
        before = whole
        for size in RUNS:
            for first in range(place, end - size + 1):
                run = np.uint64(0xC4CEB9FE1A85EC53 + size)
                for at in range(first, first + size):
                    run = step(run, codes[at])
                out[count] = np.int32(mix(run) & mask)
                count += 1
        place = end
    return count


@njit(cache=True, nogil=True)
def _buckets(codes, borders, classes, mask):  # type: ignore[no-untyped-def]
    out = np.empty(4 * len(codes) + 1, np.int32)
    firsts = np.zeros(len(borders), np.int64)
    for document in range(len(borders) - 1):
        room = out[firsts[document] :]
        count = _features(codes, borders[document], borders[document + 1], classes, np.uint64(mask), room)
        firsts[document + 1] = firsts[document] + count
    return out[: firsts[-1]].copy(), firsts


@njit(cache=True, nogil=True)
def _mean_weights(codes, borders, classes, weights):  # type: ignore[no-untyped-def]
    means, counts = np.zeros(len(borders) - 1), np.zeros(len(borders) - 1, np.int64)
    longest = 0
    for document in range(len(borders) - 1):
        longest = max(longest, borders[document + 1] - borders[document])
    out = np.empty(4 * longest + 1, np.int32)
    for document in range(len(borders) - 1):
        mask = np.uint64(len(weights) - 1)
        count = _features(codes, borders[document], borders[document + 1], classes, mask, out)
        total = 0.0
        for number in range(count):
            total += weights[out[number]]
        counts[document] = count
        if count:
            means[document] = total / count
    return means, counts
