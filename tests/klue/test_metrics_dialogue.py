import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klue.metrics.dialogue import joint_goal_accuracy, slot_micro_f1, slot_true_micro_f1

A, B, C, D = "식당-지역-서울 동쪽", "식당-종류-일식당", "숙소-가격대-dontcare", "숙소-주차 가능-yes"
states = st.lists(st.sampled_from((A, B, C, D)), max_size=4, unique=True)
turns = st.lists(st.tuples(states, states), min_size=1, max_size=10)


def test_joint_goal_accuracy_by_hand():
    # equal in another order, and with a repeated entry; one missing; one too many; both empty
    assert joint_goal_accuracy([[A, B], [A], [A, B], [A], []], [[B, A], [A, A], [A], [A, B], []]) == 60.0


def test_slot_f1_by_hand():
    gold = [[A, B], [A, B, C], [], [], [A]]
    found = [[A, B], [A, D], [], [A], []]
    # 1; 2·1/(3+2); both empty: 1; empty on one side: 0; 0
    assert slot_micro_f1(gold, found) == pytest.approx(100 * (1 + 2 / 5 + 1 + 0 + 0) / 5)
    # hits 2 + 1; entries 2 + 3 + 1 in gold, 2 + 2 + 1 predicted
    assert slot_true_micro_f1(gold, found) == pytest.approx(100 * 2 * 3 / (6 + 5))


def test_repeated_entries():
    # a wrong entry twice is two errors: 1 hit of 1 in gold and 3 predicted
    assert slot_micro_f1([[A]], [[A, B, B]]) == pytest.approx(100 * 2 / 4)
    # a right entry twice is one hit and no error
    assert slot_micro_f1([[A]], [[A, A]]) == 100.0
    # as sets neither is more than one
    assert slot_true_micro_f1([[A]], [[A, B, B]]) == pytest.approx(100 * 2 / 3)


def test_nothing_to_predict():
    assert slot_true_micro_f1([[], []], [[], []]) == 100.0
    assert slot_true_micro_f1([[]], [[A]]) == 0.0


@settings(deadline=None)
@given(turns)
def test_slot_f1_is_the_mean_of_the_single_turns(pairs):
    gold, found = zip(*pairs, strict=True)
    # without repeated entries the two F1s are one on a single turn
    single = [slot_true_micro_f1([g], [p]) for g, p in pairs]
    assert slot_micro_f1(gold, found) == pytest.approx(sum(single) / len(single), abs=1e-9)
    assert (joint_goal_accuracy(gold, found) == 100.0) == (slot_true_micro_f1(gold, found) == 100.0)


@settings(deadline=None)
@given(turns)
def test_true_micro_f1_is_that_of_all_entries_marked_by_turn(pairs):
    gold, found = zip(*pairs, strict=True)
    marked = [[f"{turn}:{entry}" for turn, state in enumerate(side) for entry in state] for side in (gold, found)]
    assert slot_true_micro_f1(gold, found) == pytest.approx(slot_micro_f1(marked[:1], marked[1:]), abs=1e-9)


@pytest.mark.parametrize("metric", [joint_goal_accuracy, slot_micro_f1, slot_true_micro_f1])
def test_wrong_input(metric):
    with pytest.raises(ValueError, match="one prediction an example"):
        metric([[A]], [])
    with pytest.raises(ValueError, match="no examples"):
        metric([], [])
