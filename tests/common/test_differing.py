"""Settings that differ, worked out by hand."""

from common.differing import differing, unequal_note


def test_what_is_not_the_same_in_all() -> None:
    rows = [{"shots": 0, "limit": None, "data": ["a"]}, {"shots": 5, "data": ["a"]}, {"shots": 0, "data": ["a"]}]
    assert differing(rows) == {"shots": [0, 5, 0]}
    assert differing([*rows, {"shots": 0, "limit": 7, "data": ["b"]}]) == {
        "shots": [0, 5, 0, 0],
        "limit": [None, None, None, 7],
        "data": [["a"], ["a"], ["a"], ["b"]],
    }
    assert differing([]) == differing(rows[:1]) == {}


def test_tasks_that_differ_in_the_same_stand_in_one_sentence() -> None:
    assert unequal_note({"A": ["shots", "data"], "B": [], "C": ["shots", "data"], "D": ["data"]}) == [
        "No score is marked as the best of A, C: rows differ in shots, data.",
        "No score is marked as the best of D: rows differ in data.",
    ]
