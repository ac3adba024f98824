"""How far a score may lie from what other examples of the same kind would give: bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from klue.metrics.pairs import same_length

Gold = TypeVar("Gold")
Prediction = TypeVar("Prediction")


def intervals(
    score: Callable[[Sequence[Gold], Sequence[Prediction]], dict[str, float]],
    gold: Sequence[Gold],
    predictions: Sequence[Prediction],
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    each: Callable[[], object] = lambda: None,
) -> dict[str, tuple[float, float]]:
    """Return the lower and upper end of percentile bootstrap intervals of several metrics, of the same draws.

    As many examples as there are, gold with prediction, are drawn with replacement and scored, `draws` times; the
    interval holds the middle `level` of these scores, interpolated between neighbours. Draws on which a metric is
    undefined (nan) are left out; both ends are nan where it is undefined on every draw. The interval speaks of other
    examples for the same model, not of other seeds of fine-tuning, and takes as long as `draws` runs of the metrics.

    Args:
        score: {metric: score} of gold and predictions, one element each an example.
        gold: at least one example.
        predictions: as many, same order.
        draws: 1 or more.
        seed: of the draws; the same seed gives the same interval.
        level: share of the scores between the ends, above 0 and below 1.
        each: called after each draw.

    Raises:
        ValueError: the lengths differ, nothing is there, or `draws` or `level` is out of range.
    """
    if draws < 1:
        raise ValueError(f"draws is {draws}: at least 1")
    if not 0 < level < 1:
        raise ValueError(f"level is {level}: above 0 and below 1")
    drawn = drawn_scores(score, gold, [[predictions]], draws, seed, each)
    return {name: middle(scores[:, 0], level) for name, scores in drawn.items()}


def drawn_scores(
    score: Callable[[Sequence[Gold], Sequence[Prediction]], dict[str, float]],
    gold: Sequence[Gold],
    systems: Sequence[Sequence[Sequence[Prediction]]],
    draws: int = 1000,
    seed: int = 0,
    each: Callable[[], object] = lambda: None,
) -> dict[str, np.ndarray]:
    """Return metric → scores of systems on the same draws of examples, (draws, systems): a system's is the mean over
    its seeds.

    Args:
        score: {metric: score} of gold and predictions, one element each an example.
        gold: at least one example.
        systems: of each system one list of predictions a seed, in the order of the gold labels.
        draws: 1 or more.
        seed: of the draws.
        each: called after each draw.

    Raises:
        ValueError: the lengths differ, or nothing is there.
    """
    for predictions in (one for system in systems for one in system):
        same_length(gold, predictions)
    generator = np.random.default_rng(seed)
    found: dict[str, list[list[float]]] = {}
    for _ in range(draws):
        chosen = generator.integers(len(gold), size=len(gold)).tolist()
        right = [gold[i] for i in chosen]
        means: dict[str, list[float]] = {}
        for system in systems:
            seeds = [score(right, [predictions[i] for i in chosen]) for predictions in system]
            for name in seeds[0]:
                means.setdefault(name, []).append(sum(one[name] for one in seeds) / len(seeds))
        for name, values in means.items():
            found.setdefault(name, []).append(values)
        each()
    return {name: np.array(values) for name, values in found.items()}


def middle(scores: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Return the ends of the middle `level` of some draws' scores, (draws,); nan where all are undefined."""
    scores = scores[~np.isnan(scores)]
    if not len(scores):
        return float("nan"), float("nan")
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def chance_of_difference(differences: np.ndarray) -> float:
    """Return the two-sided p of the paired bootstrap: twice the share of the draws in which the difference has the
    rarer sign (0 counts for both), each share with one draw added; 1 at most, nan where no draw is defined.

    Args:
        differences: of two systems on the same draws, (draws,).
    """
    differences = differences[~np.isnan(differences)]
    if not len(differences):
        return float("nan")
    rarer = min(int((differences <= 0).sum()), int((differences >= 0).sum()))
    return min(1.0, 2 * (rarer + 1) / (len(differences) + 1))
