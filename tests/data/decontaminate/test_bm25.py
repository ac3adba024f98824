"""The weights are BM25 as written, and a threshold is met or missed exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.decontaminate.bm25 import SCALE, bm25_weights, inverse_frequency, needed_weight


def test_a_weight_worked_by_hand() -> None:
    weights = bm25_weights(np.array([2]), inverse_frequency(np.array([3]), 100), np.array([10]), mean=8.0)
    idf = math.log(1 + (100 - 3 + 0.5) / (3 + 0.5))
    expected = idf * 2 * 2.2 / (2 + 1.2 * (1 - 0.75 + 0.75 * 10 / 8))
    assert weights[0] / SCALE == pytest.approx(expected, abs=1 / SCALE)


def test_a_term_in_every_sentence_still_weighs_something() -> None:
    idf = inverse_frequency(np.array([10**9]), 10**9)
    assert bm25_weights(np.array([1]), idf, np.array([1]), mean=1.0)[0] >= 1


@given(st.integers(1, 10**12), st.integers(1, 1000))
def test_the_needed_weight_is_the_least_that_reaches_the_share(total: int, thousandths: int) -> None:
    need = int(needed_weight(np.array([total]), thousandths / 1000)[0])
    share = Fraction(thousandths, 1000)
    assert Fraction(need, total) >= share
    assert need == 1 or Fraction(need - 1, total) < share
