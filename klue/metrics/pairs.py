"""What the metrics share: gold and prediction must pair up, sums over examples, the mean F1 of classes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence, Sized

import numpy as np
from numpy.typing import ArrayLike

Weighted = Callable[[np.ndarray], dict[str, float]]
"""How often each example counts, (N,), to scores × 100: those of a sample drawn with replacement, without building it.
The examples' predictions are compared with gold once, when the function is made."""


def same_length(gold: Sized, predicted: Sized) -> None:
    """Check that there is one prediction an example, and at least one example. Raises ValueError where it is not so."""
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold values and {len(predicted)} predictions: one prediction an example")
    if not len(gold):
        raise ValueError("no examples to score")


def same_lengths(gold: Sequence[Sized], predicted: Sequence[Sized]) -> None:
    """Check for one predicted sequence an example, as long as the gold one. Raises ValueError for the first other."""
    same_length(gold, predicted)
    for number, (g, p) in enumerate(zip(gold, predicted, strict=True)):
        if len(g) != len(p):
            raise ValueError(f"example {number}: {len(g)} gold values and {len(p)} predicted ones")


def mean(shares: Iterable[float]) -> float:
    """Return the mean × 100 of at least one share, added up in their order."""
    values = list(shares)
    return 100.0 * sum(values) / len(values)


def weighted_sums(addends_NK: ArrayLike, scores_of: Callable[[np.ndarray], dict[str, float]]) -> Weighted:
    """Return the scores that `scores_of` gives of sums over examples, (K,), each adding its row of `addends_NK`."""
    addends_NK = np.asarray(addends_NK, dtype=np.float64)
    return lambda weights_N: scores_of(np.asarray(weights_N, dtype=np.float64) @ addends_NK)


def counted(rows: Sequence[Iterable[Hashable]], classes: Iterable[Hashable]) -> np.ndarray:
    """Return how often each class stands in each row, (rows, classes), a row being an example. Raises KeyError for what
    is no class."""
    place = {kind: number for number, kind in enumerate(classes)}
    flat = [len(place) * number + place[kind] for number, row in enumerate(rows) for kind in row]
    counts = np.bincount(np.array(flat, dtype=np.int64), minlength=len(rows) * len(place))
    return counts.reshape(len(rows), len(place))


def hits_and_sides(
    gold: Sequence[Sequence[Hashable]], predicted: Sequence[Sequence[Hashable]], classes: Sequence[Hashable]
) -> np.ndarray:
    """Return of each example how often each class is right, in gold, and predicted, (examples, 3 · classes)."""
    right = [[g for g, p in zip(*pair, strict=True) if g == p] for pair in zip(gold, predicted, strict=True)]
    return np.hstack([counted(rows, classes) for rows in (right, gold, predicted)])


def mean_f1(counts_3C: np.ndarray, absent: float | None = None) -> float:
    """Return the mean F1 × 100 of classes by how often each is right, in gold, and predicted, one after the other.

    Args:
        absent: F1 of a class that occurs on neither side; None leaves it out, and the mean is nan where all are absent.
    """
    hits_C, gold_C, found_C = counts_3C.reshape(3, -1)
    total_C = gold_C + found_C
    f1_C = np.divide(2 * hits_C, total_C, out=np.full(total_C.shape, absent or 0.0), where=total_C > 0)
    f1_C = f1_C if absent is not None else f1_C[total_C > 0]
    return mean(f1_C.tolist()) if len(f1_C) else float("nan")
