"""What the metrics share: gold and prediction must pair up, and the F1 of every class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence, Sized
from typing import TypeVar

Class = TypeVar("Class", bound=Hashable)


def same_length(gold: Sized, predicted: Sized) -> None:
    """Check that there is one prediction an example, and at least one example. Raises ValueError where it is not so."""
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold values and {len(predicted)} predictions: one prediction an example")
    if not len(gold):
        raise ValueError("no examples to score")


def same_lengths(gold: Sequence[Sized], predicted: Sequence[Sized]) -> None:
    """Check that there is one predicted sequence an example, as long as the gold one, and at least one example. Raises
    ValueError where it is not so; the first example that differs is named by its number from 0."""
    same_length(gold, predicted)
    for number, (g, p) in enumerate(zip(gold, predicted, strict=True)):
        if len(g) != len(p):
            raise ValueError(f"example {number}: {len(g)} gold values and {len(p)} predicted ones")


def mean(shares: Iterable[float]) -> float:
    """Return the mean × 100 of at least one share, added up in their order."""
    found = list(shares)
    return 100.0 * sum(found) / len(found)


def f1_by_class(gold: Sequence[Class], predicted: Sequence[Class]) -> dict[Class, float]:
    """Return the F1, 0 to 1, of every class that occurs in gold or prediction."""
    hits = Counter(g for g, p in zip(gold, predicted, strict=True) if g == p)
    return f1_from_counts(hits, Counter(gold), Counter(predicted))


def f1_from_counts(hits: Counter[Class], gold: Counter[Class], predicted: Counter[Class]) -> dict[Class, float]:
    """Return the F1, 0 to 1, of every class that is counted in gold or prediction."""
    # the union of counters keeps the order of occurrence, so that the rounding of a mean does not change between runs
    return {kind: 2 * hits[kind] / (gold[kind] + predicted[kind]) for kind in gold | predicted}
