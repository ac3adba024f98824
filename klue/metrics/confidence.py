"""How far a score may lie from what other examples of the same kind would give: bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from klue.metrics.pairs import Weighted, same_length

Gold = TypeVar("Gold")
Prediction = TypeVar("Prediction")
WeightedOf = Callable[[Sequence[Any], Sequence[Any]], Weighted]
"""Gold and predictions to scores by how often each example counts."""

MIDDLE = 0.95
"""Share of the draws that an interval holds."""


def repeated(score: Callable[[Sequence[Gold], Sequence[Prediction]], dict[str, float]]) -> WeightedOf:
    """Return the weighted form of any score: each sample is built, which takes far longer than adding up sums."""

    def weighted(gold: Sequence[Gold], predicted: Sequence[Prediction]) -> Weighted:
        same_length(gold, predicted)

        def scores(weights_N: np.ndarray) -> dict[str, float]:
            places = np.repeat(np.arange(len(gold)), weights_N.astype(np.int64)).tolist()
            return score([gold[i] for i in places], [predicted[i] for i in places])

        return scores

    return weighted


def drawn_scores(
    weighted: WeightedOf,
    gold: Sequence[Gold],
    systems: Sequence[Sequence[Sequence[Prediction]]],
    draws: int,
    each: Callable[[], object] = lambda: None,
) -> dict[str, np.ndarray]:
    """Return metric → scores of systems on the same draws of examples, (draws, systems): a system's is the mean over
    its seeds.

    As many examples as there are, gold with prediction, are drawn with replacement, `draws` times. What comes of it
    speaks of other examples for the same model, not of other seeds of fine-tuning.

    Args:
        systems: of each system one list of predictions a seed, in the order of the gold labels.

    Raises:
        ValueError: the lengths differ, or nothing is there.
    """
    scored = [[weighted(gold, predictions) for predictions in system] for system in systems]
    generator = np.random.default_rng(0)
    scores: dict[str, list[float]] = {}
    for _ in range(draws):
        weights_N = np.bincount(generator.integers(len(gold), size=len(gold)), minlength=len(gold))
        for system in scored:
            seeds = [score(weights_N) for score in system]
            for name in seeds[0]:
                scores.setdefault(name, []).append(sum(seed_scores[name] for seed_scores in seeds) / len(seeds))
        each()
    return {name: np.array(values).reshape(draws, len(systems)) for name, values in scores.items()}


def central_interval(scores: np.ndarray) -> tuple[float, float]:
    """Return the ends of the middle 95% of some draws' scores, (draws,), interpolated between neighbours. Draws on
    which a score is undefined (nan) are left out; both ends are nan where all are."""
    scores = scores[~np.isnan(scores)]
    if not len(scores):
        return float("nan"), float("nan")
    low, high = np.quantile(scores, [(1 - MIDDLE) / 2, (1 + MIDDLE) / 2])
    return float(low), float(high)


def paired_p_value(differences: np.ndarray) -> float:
    """Return the two-sided p of the paired bootstrap: twice the share of the `differences`, (draws,), that have the
    rarer sign (0 counts for both), each share with one draw added; 1 at most, nan where no draw is defined."""
    differences = differences[~np.isnan(differences)]
    if not len(differences):
        return float("nan")
    rarer = min(int((differences <= 0).sum()), int((differences >= 0).sum()))
    return min(1.0, 2 * (rarer + 1) / (len(differences) + 1))
