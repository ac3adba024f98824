"""The metrics of YNAT, KLUE-NLI and KLUE-STS as the benchmark's authors compute them: pure functions, scores × 100."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from klue.metrics.pairs import Weighted, hits_and_sides, mean, mean_f1, same_length, weighted_sums

SIMILAR_FROM = 3.0
"""KLUE-STS: a pair scored at or above this (0 to 5) counts as "similar" in the F1."""


def accuracy(gold: Sequence[Hashable], predicted: Sequence[Hashable]) -> float:
    """Return the share of equal labels × 100."""
    same_length(gold, predicted)
    return mean(g == p for g, p in zip(gold, predicted, strict=True))


def macro_f1(gold: Sequence[Hashable], predicted: Sequence[Hashable]) -> float:
    """Return the mean F1 × 100 over the labels that occur in gold or prediction. A label that occurs on one side only
    has F1 0 and counts; one that occurs on neither does not."""
    return weighted_label_scores(gold, predicted)(np.ones(len(gold)))["macro_f1"]


def weighted_label_scores(gold: Sequence[Hashable], predicted: Sequence[Hashable]) -> Weighted:
    """Return `accuracy` and `macro_f1` by how often each example counts."""
    same_length(gold, predicted)
    # the same order for each model: equal counts give equal scores to the last digit
    classes = sorted({*gold, *predicted}, key=str)
    counts = hits_and_sides([[label] for label in gold], [[label] for label in predicted], classes)

    def scores(sums: np.ndarray) -> dict[str, float]:
        hits, total, _ = sums.reshape(3, -1).sum(axis=1)
        return {"accuracy": 100.0 * float(hits) / float(total), "macro_f1": mean_f1(sums)}

    return weighted_sums(counts, scores)


def pearsonr(gold: Sequence[float], predicted: Sequence[float]) -> float:
    """Return Pearson's correlation × 100; nan where it is undefined (one side constant, or fewer than two pairs)."""
    same_length(gold, predicted)
    x = np.asarray(gold, dtype=np.float64)
    y = np.asarray(predicted, dtype=np.float64)
    # a constant side leaves rounding dust after centring, hence the test on the values themselves
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    x, y = x - x.mean(), y - y.mean()
    # scaled one by one: squares, and the product of the two norms, may leave the range of a double
    x, y = x / np.abs(x).max(), y / np.abs(y).max()
    r = float(np.dot(x / np.linalg.norm(x), y / np.linalg.norm(y)))
    return 100.0 * min(1.0, max(-1.0, r))


def spearmanr(gold: Sequence[float], predicted: Sequence[float]) -> float:
    """Return Spearman's rank correlation × 100, equal values sharing their mean rank; nan where it is undefined."""
    same_length(gold, predicted)
    return pearsonr(_ranks(gold), _ranks(predicted))


def _ranks(values: Sequence[float]) -> list[float]:
    _, place, counts = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means: list[float] = ((2 * last - counts + 1) / 2)[place].tolist()
    return means


def similarity_f1(gold: Sequence[float], predicted: Sequence[float]) -> float:
    """Return the F1 × 100 of the class "3.0 or more", in double precision; 0 where neither side has one."""
    same_length(gold, predicted)
    x = np.asarray(gold, dtype=np.float64) >= SIMILAR_FROM
    y = np.asarray(predicted, dtype=np.float64) >= SIMILAR_FROM
    total = int(x.sum()) + int(y.sum())
    return 100.0 * 2 * int((x & y).sum()) / total if total else 0.0


METRICS: dict[str, Callable[[Sequence[Any], Sequence[Any]], float]] = {
    "accuracy": accuracy,
    "macro_f1": macro_f1,
    "pearsonr": pearsonr,
    "spearmanr": spearmanr,
    "f1": similarity_f1,
}
"""By their keys in scores."""
