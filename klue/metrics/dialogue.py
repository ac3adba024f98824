"""The metrics of WoS: joint goal accuracy and F1 of slots from the dialogue state of each user turn, scores × 100."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from klue.metrics.pairs import Weighted, same_length, weighted_sums


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
