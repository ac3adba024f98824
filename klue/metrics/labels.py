"""Metrics of a user's own tasks: sets of labels, entities of any types; scores × 100."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from klue.metrics.pairs import Weighted, counted, mean_f1, same_length, weighted_sums


def weighted_set_scores(gold: Sequence[Sequence[Hashable]], predicted: Sequence[Sequence[Hashable]]) -> Weighted:
    """Return the scores of sets of labels by how often each example counts.

    They are `micro_f1`, of all labels of all examples; `macro_f1`, the mean over the labels that gold or prediction
    has; and `exact_match`, the share of examples whose sets are equal.
    """
    hits = [[label for label in p if label in g] for g, p in zip(gold, predicted, strict=True)]
    equal = [set(g) == set(p) for g, p in zip(gold, predicted, strict=True)]
    return _weighted((hits, gold, predicted), equal)


def weighted_span_scores(
    gold: Sequence[Sequence[tuple[int, int, str]]], predicted: Sequence[Sequence[tuple[int, int, str]]]
) -> Weighted:
    """Return `entity_micro_f1` and `entity_macro_f1`, over types, by how often each example counts. An entity is right
    when start, end and type are (CoNLL-2003).

    Args:
        gold: of each example the entities: start, end (exclusive) and type.
    """
    hits = [[span for span in p if span in set(g)] for g, p in zip(gold, predicted, strict=True)]
    kinds = [[[kind for _, _, kind in spans] for spans in side] for side in (hits, gold, predicted)]
    scores = _weighted((kinds[0], kinds[1], kinds[2]), [True] * len(gold))
    return lambda weights_N: {f"entity_{name}": scores(weights_N)[name] for name in ("micro_f1", "macro_f1")}


def _weighted(sides: tuple[Sequence[Sequence[Hashable]], ...], equal: Sequence[bool]) -> Weighted:
    _, gold, predicted = sides
    same_length(gold, predicted)
    classes = sorted({label for side in (gold, predicted) for row in side for label in row}, key=str)
    counts = np.hstack([counted(rows, classes) for rows in sides])
    whole = np.column_stack([np.ones(len(gold)), np.array(equal, np.float64)])

    def scores(sums: np.ndarray) -> dict[str, float]:
        examples, matches = sums[:2]
        hits, of_gold, of_predicted = sums[2:].reshape(3, -1).sum(axis=1)
        total = of_gold + of_predicted
        return {
            "micro_f1": 100.0 * float(2 * hits / total) if total else 100.0 * float(matches / examples),
            "macro_f1": mean_f1(sums[2:]),
            "exact_match": 100.0 * float(matches / examples),
        }

    return weighted_sums(np.hstack([whole, counts]), scores)
