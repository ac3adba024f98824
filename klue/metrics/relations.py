"""The metrics of KLUE-RE: micro F1 without the empty relation, and area under precision-recall; scores × 100."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from klue.metrics.pairs import Weighted, same_length

NO_RELATION = "no_relation"
"""The label that the micro F1 leaves out."""


def weighted_relation_scores(
    gold: Sequence[str], predicted: Sequence[str], probabilities: ArrayLike, labels: Sequence[str]
) -> Weighted:
    """Return `micro_f1` and `auprc` by how often each example counts."""
    f1 = micro_f1(gold, predicted, labels)
    area = auprc(gold, probabilities, labels)
    return lambda weights_N: {"micro_f1": f1(weights_N), "auprc": area(weights_N)}


def micro_f1(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> Callable[[np.ndarray], float]:
    """Return the F1 × 100 of all relations together by how often each example counts; 0 where neither side has a
    relation but `NO_RELATION`.

    A right `NO_RELATION` counts nowhere; a relation in its place, or it in the place of a relation, is one error.
    Raises ValueError for a label that is not in `labels`.
    """
    same_length(gold, predicted)
    _check_known({*gold, *predicted}, labels)
    sums_N2 = np.array(
        [(g == p != NO_RELATION, (g != NO_RELATION) + (p != NO_RELATION)) for g, p in zip(gold, predicted, strict=True)]
    )

    def micro(weights_N: np.ndarray) -> float:
        hits, total = (weights_N @ sums_N2).tolist()
        return 100.0 * 2 * hits / total if total else 0.0

    return micro


def auprc(gold: Sequence[str], probabilities: ArrayLike, labels: Sequence[str]) -> Callable[[np.ndarray], float]:
    """Return the mean over all labels of the area × 100 under the precision-recall curve, by trapezoids, by how often
    each example counts.

    A label's curve starts at recall 0 and precision 1 and has a point for every distinct probability, all examples
    with at least that probability taken for the label. For a label without an example in gold recall is 1 throughout
    and the area 0.5, whatever the probabilities: scikit-learn's rule since 1.1; before, and so with the authors, the
    area was undefined. No label of the benchmark's dev set is without an example.

    Args:
        probabilities: shape (examples, labels); finite. Any scores that rank the examples of each label will do.
        labels: the label of each column, all labels.

    Raises:
        ValueError: a gold label is not in `labels`, or a probability is not finite.
    """
    scores_NC = np.asarray(probabilities, dtype=np.float64)
    same_length(gold, scores_NC)
    if scores_NC.shape != (len(gold), len(labels)):
        raise ValueError(f"probabilities of shape {scores_NC.shape} for {len(gold)} examples and {len(labels)} labels")
    if not np.isfinite(scores_NC).all():
        raise ValueError("a probability is not finite")
    _check_known(set(gold), labels)
    column = {label: number for number, label in enumerate(labels)}
    gold_N = np.array([column[label] for label in gold])
    areas = [_weighted_area(gold_N == c, scores_NC[:, c]) for c in range(len(labels))]
    return lambda weights_N: 100.0 * float(np.mean([area(weights_N) for area in areas]))


def _weighted_area(positive_N: np.ndarray, score_N: np.ndarray) -> Callable[[np.ndarray], float]:
    order = np.argsort(-score_N)
    positive_N = positive_N[order]
    # examples of equal score are taken together: only the last of them is a point of the curve
    last_T = np.append(np.flatnonzero(np.diff(score_N[order])), len(score_N) - 1)

    def area(weights_N: np.ndarray) -> float:
        weights_N = weights_N[order]
        seen_T = np.cumsum(weights_N)[last_T]
        hits_T = np.cumsum(weights_N * positive_N)[last_T]
        # before the first example that counts, the curve is at its start
        precision = np.append(1.0, np.divide(hits_T, seen_T, out=np.ones(len(last_T)), where=seen_T > 0))
        recall = np.append(0.0, hits_T / hits_T[-1] if hits_T[-1] else seen_T > 0)
        return float(np.sum(np.diff(recall) * (precision[1:] + precision[:-1]) / 2))

    return area


def _check_known(used: set[str], labels: Sequence[str]) -> None:
    unknown = used.difference(labels)
    if unknown:
        raise ValueError(f"{min(unknown)!r} is not one of the labels")
