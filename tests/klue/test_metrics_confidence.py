import math

import numpy as np
import pytest

from klue.metrics.confidence import drawn_scores, middle
from klue.metrics.sentence import accuracy, pearsonr


def interval(metric, gold, found, draws=1000):
    drawn = drawn_scores(lambda *sides: {"it": metric(*sides)}, gold, [[found]], draws)["it"]
    return middle(drawn[:, 0])


def test_accuracy_has_the_width_of_a_binomial():
    gold, found = ["a"] * 400, ["a"] * 300 + ["b"] * 100
    low, high = interval(accuracy, gold, found)
    # 75 ± 1.96 · 100 · sqrt(.75 · .25 / 400) = 75 ± 4.24
    assert low == pytest.approx(75 - 4.24, abs=0.5)
    assert high == pytest.approx(75 + 4.24, abs=0.5)


def test_undefined_draws_are_left_out():
    # three pairs: about a ninth of the draws takes one of them three times and has no correlation
    low, high = interval(pearsonr, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], draws=200)
    assert (low, high) == pytest.approx((100.0, 100.0))
    assert all(math.isnan(end) for end in interval(pearsonr, [1.0, 1.0], [1.0, 2.0], draws=20))


def test_a_perfect_score_has_no_width():
    assert interval(accuracy, ["a", "b"] * 20, ["a", "b"] * 20, draws=50) == (100.0, 100.0)


def test_gold_and_prediction_stay_together():
    gold = list(range(40))
    found = np.array(gold) * 2.0  # an array will do
    assert interval(pearsonr, gold, found, draws=30) == pytest.approx((100.0, 100.0))
