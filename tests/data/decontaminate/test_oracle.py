"""The oracle itself, on cases worked by hand: what the matcher is compared with must be right."""

import pytest

from data.benchmark import BenchmarkSentence
from data.decontaminate.criteria import Criteria
from data.decontaminate.matcher import Hit
from tests.data.decontaminate.oracle import Oracle, contained_share, fragment_share


def test_contained_share_adds_weights_of_one_window() -> None:
    weights = {"a": 5, "b": 3, "c": 2}
    assert contained_share(["a", "x", "b"], weights, 0.8, 4) == 0.8
    assert contained_share(["a", "x", "x", "x", "b"], weights, 0.8, 4) == 0.0
    assert contained_share(["a", "a", "c"], weights, 0.8, 4) == 0.0
    assert contained_share(["a", "x", "c", "b", "a"], weights, 0.5, 3) == pytest.approx(1.0)


def test_fragment_share_is_the_longest_run() -> None:
    criteria = Criteria(fragment_threshold=0.8, fragment_min_characters=20, fragment_min_syllables=7)
    text = "abcdefghijklmnopqrstuvwxyz"
    assert fragment_share(text[:24] + "1", text, criteria) == 24 / 25
    assert fragment_share(text[:19], text, criteria) == 0.0
    assert fragment_share(text[:20] + "123456", text, criteria) == 0.0
    assert fragment_share(text[:21], text, criteria) == 0.0  # 20 pairs of letters: 6 2/3 syllables
    assert fragment_share(text[:22], text, criteria) == 1.0
    assert fragment_share("하하" * 30, "하하" * 40, criteria) == 0.0


def test_exact_comes_first_and_ties_go_to_the_lower_name() -> None:
    benchmark = [
        BenchmarkSentence("t2", "a", "봄 여름 가을 겨울"),
        BenchmarkSentence("t1", "b", "봄 여름 가을 겨울 바다"),
    ]
    oracle = Oracle([*benchmark, BenchmarkSentence("t2", "0", "봄 여름 가을 겨울")], Criteria())
    assert oracle.match(["봄여름가을겨울!", "바다 봄 여름 가을 겨울", "바다"]) == [
        Hit("t2", "0", 1.0, "exact", "봄 여름 가을 겨울"),
        Hit("t1", "b", 1.0, "words", "봄 여름 가을 겨울 바다"),
        None,
    ]
