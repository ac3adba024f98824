"""Rates of sources: by hand, by a slow search, and in their properties."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import UserError
from common.settings import parse_settings
from data.mixture.settings import MixtureSettings, SourceShare
from data.mixture.shares import rates_of

SIZES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 10**12), min_size=1)


def settings(**changes) -> MixtureSettings:
    return MixtureSettings.model_validate(changes)


def test_by_hand():
    sizes = {"news": 900, "talk": 100}
    # n^0.5: 30 and 10, so shares of 3/4 and 1/4 of 1000 bytes: 750 / 900 and 250 / 100
    assert rates_of(sizes, settings(alpha=0.5)) == pytest.approx({"news": 750 / 900, "talk": 2.5})
    # equal shares of 500 each would be 5 times talk; it gets 4 times, and news what is left: 600
    assert rates_of(sizes, settings(alpha=0)) == pytest.approx({"news": 600 / 900, "talk": 4})
    assert rates_of(sizes, settings(alpha=0, max_epochs=10)) == pytest.approx({"news": 500 / 900, "talk": 5})
    # weights 900 · 1 and 100 · 3: shares of 3/4 and 1/4
    assert rates_of(sizes, settings(sources={"talk": {"weight": 3}})) == pytest.approx({"news": 750 / 900, "talk": 2.5})
    # a source of a fixed number of epochs takes nothing from the others
    assert rates_of({**sizes, "wiki": 50}, settings(sources={"wiki": {"epochs": 3}})) == {
        "news": 1,
        "talk": 1,
        "wiki": 3,
    }


@given(SIZES)
def test_nothing_changes_without_settings(sizes):
    assert rates_of(sizes, settings()) == dict.fromkeys(sizes, 1.0)


@given(SIZES, st.floats(0, 1), st.floats(1, 20), st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.01, 100)))
def test_shares_are_weight_times_size_to_alpha_up_to_the_bound(sizes, alpha, bound, weights):
    sizes = {name: size for name, size in sizes.items() if size}
    chosen = settings(
        alpha=alpha, max_epochs=bound, sources={name: {"weight": weight} for name, weight in weights.items()}
    )
    rates = rates_of(sizes, chosen)
    assert all(0 <= rate <= bound for rate in rates.values())
    below = [name for name in sizes if rates[name] < bound - 1e-6]
    factors = [rates[name] * sizes[name] / (weights.get(name, 1) * sizes[name] ** alpha) for name in below]
    for name, factor in zip(below, factors, strict=True):
        slack = 1e-8 * sizes[name] / (weights.get(name, 1) * sizes[name] ** alpha)
        assert math.isclose(factor, max(factors), rel_tol=1e-6, abs_tol=2 * slack) or factor < max(factors)
    whole = sum(sizes.values())
    got = sum(rates[name] * sizes[name] for name in sizes)
    assert got <= whole * (1 + 1e-6)
    if below:
        assert math.isclose(got, whole, rel_tol=1e-6)


@given(SIZES, st.floats(0, 1))
def test_the_larger_of_two_sources_gets_the_larger_part_and_the_lower_rate(sizes, alpha):
    rates = rates_of(sizes, settings(alpha=alpha, max_epochs=100))
    ordered = sorted((name for name in sizes if sizes[name]), key=lambda name: sizes[name])
    for small, large in itertools.pairwise(ordered):
        assert rates[small] >= rates[large] - 1e-8
        assert rates[small] * sizes[small] <= rates[large] * sizes[large] + 1e-8 * (sizes[small] + sizes[large])


def test_weight_and_epochs_of_one_source_are_refused():
    with pytest.raises(UserError, match=r"leave one of them out"):
        parse_settings(SourceShare, {"weight": 2, "epochs": 3}, "test")
