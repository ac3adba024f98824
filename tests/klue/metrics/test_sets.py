import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klue.metrics.sets import weighted_state_scores
from tests.klue.once import once

A, B, C, D = "식당-지역-서울 동쪽", "식당-종류-일식당", "숙소-가격대-dontcare", "숙소-주차 가능-yes"
states = st.lists(st.sampled_from((A, B, C, D)), max_size=4, unique=True)


def scored(gold, found):
    return tuple(
        once(weighted_state_scores)(gold, found)[name]
        for name in ("joint_goal_accuracy", "slot_micro_f1", "slot_true_micro_f1")
    )


@pytest.mark.parametrize(
    ("gold", "found", "joint", "turns", "whole"),
    [
        # equal in another order, and with a repeated entry; one missing; one too many; both empty
        ([[A, B], [A], [A, B], [A], []], [[B, A], [A, A], [A], [A, B], []], 60, (3 + 2 / 3 + 2 / 3) / 5, 10 / 12),
        # 1; 2·1/(3+2); both empty: 1; empty on one side: 0; 0. Hits 2 + 1 of 6 in gold and 5 predicted
        ([[A, B], [A, B, C], [], [], [A]], [[A, B], [A, D], [], [A], []], 40, (1 + 2 / 5 + 1) / 5, 6 / 11),
        # a wrong entry twice is two errors, 1 hit of 1 in gold and 3 predicted; as sets it is one
        ([[A]], [[A, B, B]], 0, 2 / 4, 2 / 3),
        # a right entry twice is one hit and no error
        ([[A]], [[A, A]], 100, 1, 1),
        ([[], []], [[], []], 100, 1, 1),
        ([[]], [[A]], 0, 0, 0),
    ],
)  # fmt: skip
def test_by_hand(gold, found, joint, turns, whole):
    assert scored(gold, found) == pytest.approx((joint, 100 * turns, 100 * whole))


@settings(max_examples=40)
@given(st.lists(st.tuples(states, states), min_size=1, max_size=10))
def test_slot_f1_is_the_mean_of_the_single_turns(pairs):
    gold, found = zip(*pairs, strict=True)
    joint, turns, whole = scored(gold, found)
    # without repeated entries the two F1s are one on a single turn
    assert turns == pytest.approx(sum(scored([g], [p])[2] for g, p in pairs) / len(pairs), abs=1e-9)
    assert (joint == 100.0) == (whole == 100.0)
    marked = [[f"{turn}:{entry}" for turn, state in enumerate(side) for entry in state] for side in (gold, found)]
    assert whole == pytest.approx(scored(marked[:1], marked[1:])[1], abs=1e-9)
