"""Metrics of sets, scores × 100: the states of WoS by user turn (joint goal accuracy, F1 of slots), and the labels, or
entities of any types, of a user's own tasks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from klue.metrics.pairs import Weighted, counted, mean_f1, same_length, weighted_sums


def weighted_state_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Weighted:
    """Return the scores × 100 of user turns' states, lists of "domain-slot-value" without slots that have no value, by
    how often each turn counts.

    - `joint_goal_accuracy`: share of the turns whose predicted state has the entries of the gold state, as sets.
    - `slot_micro_f1`: mean of the turns' F1, the benchmark's "slot micro F1" in paper and code. A turn's F1 is 1 where
      both states are empty. States are taken as lists, as in the authors' code: a wrong entry that is predicted twice
      is two errors, a right one is one hit however often it is predicted.
    - `slot_true_micro_f1`: F1 of the entries of all turns together, states taken as sets. What "micro F1" means
      elsewhere, and no number of the benchmark; 100 where all states of both sides are empty.
    """
    same_length(gold, predicted)
    turns = [
        (1, set(g) == set(p), _turn_f1(g, p), len({*g} & {*p}), len({*g}) + len({*p}))
        for g, p in zip(gold, predicted, strict=True)
    ]

    def scores(sums: np.ndarray) -> dict[str, float]:
        count, joint, f1, hits, total = sums.tolist()
        return {
            "joint_goal_accuracy": 100.0 * joint / count,
            "slot_micro_f1": 100.0 * f1 / count,
            "slot_true_micro_f1": 100.0 * 2 * hits / total if total else 100.0,
        }

    return weighted_sums(turns, scores)


def _turn_f1(gold: Sequence[str], predicted: Sequence[str]) -> float:
    if not gold:
        return float(not predicted)
    hits = sum(entry in predicted for entry in gold)
    wrong = sum(entry not in gold for entry in predicted)
    return 2 * hits / (hits + len(gold) + wrong)


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
