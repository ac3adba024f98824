"""The metrics of WoS: joint goal accuracy and F1 of slots from the dialogue state of each user turn, scores × 100.

A state is a list of "domain-slot-value"; a slot without a value is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from klue.metrics.pairs import same_length


def joint_goal_accuracy(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """Return the share × 100 of the turns whose predicted state has the entries of the gold state, as sets.

    Args:
        gold: one state a user turn; at least one turn, a state may be empty.
        predicted: as many states, same order.

    Raises:
        ValueError: the lengths differ, or nothing is there.
    """
    same_length(gold, predicted)
    return 100.0 * sum(set(g) == set(p) for g, p in zip(gold, predicted, strict=True)) / len(gold)


def slot_micro_f1(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """Return the mean over the turns of the turn's F1 × 100: the benchmark's "slot micro F1", in paper and code.

    A turn's F1 is 1 where both states are empty. The states are taken as lists, as in the authors' code: a wrong
    entry that is predicted twice is two errors, a right one is one hit however often it is predicted.

    Args:
        gold: one state a user turn; at least one turn, a state may be empty.
        predicted: as many states, same order.

    Raises:
        ValueError: the lengths differ, or nothing is there.
    """
    same_length(gold, predicted)
    return 100.0 * sum(_turn_f1(g, p) for g, p in zip(gold, predicted, strict=True)) / len(gold)


def slot_true_micro_f1(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """Return the F1 × 100 of the entries of all turns together, the states taken as sets.

    What "micro F1" means elsewhere, and no number of the benchmark; 100 where all states of both sides are empty.

    Args:
        gold: one state a user turn; at least one turn, a state may be empty.
        predicted: as many states, same order.

    Raises:
        ValueError: the lengths differ, or nothing is there.
    """
    same_length(gold, predicted)
    hits = sum(len(set(g) & set(p)) for g, p in zip(gold, predicted, strict=True))
    total = sum(len(set(state)) for states in (gold, predicted) for state in states)
    return 100.0 * 2 * hits / total if total else 100.0


def _turn_f1(gold: Sequence[str], predicted: Sequence[str]) -> float:
    if not gold and not predicted:
        return 1.0
    if not gold:
        return 0.0
    hits = sum(entry in predicted for entry in gold)
    wrong = sum(entry not in gold for entry in predicted)
    return 2 * hits / (hits + len(gold) + wrong)
