"""The sample spends its budget evenly over sources, and is a function of seed and key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenizer.sampling import Sample, source_shares


@given(st.dictionaries(st.text(max_size=5), st.integers(0, 10**9), min_size=1, max_size=8), st.floats(1, 1e10))
def test_the_budget_is_spent_and_no_source_passes_the_level(sizes: dict[str, int], budget: float) -> None:
    shares = source_shares(sizes, budget)
    taken = {name: sizes[name] * shares[name] for name in sizes}
    assert sum(taken.values()) == pytest.approx(min(budget, sum(sizes.values())), rel=1e-9, abs=1e-6)
    level = max(taken.values())
    assert all(shares[name] == 1.0 or taken[name] == pytest.approx(level) for name in sizes)


def test_a_sample_takes_about_the_share_and_depends_on_the_seed() -> None:
    def drawn(seed: int) -> list[bool]:
        sample = Sample({"a": 0.3}, 0.1, seed)
        return [sample.trains("a", str(number)) for number in range(5000)]

    assert 0.25 < sum(drawn(1)) / 5000 < 0.29  # 0.3 of the nine tenths that are not held out
    assert drawn(1) == drawn(1) != drawn(2)


@given(st.floats(0, 1), st.floats(0, 1), st.text(max_size=9))
def test_what_is_held_out_is_never_trained_on(share: float, held_out: float, key: str) -> None:
    sample = Sample({"a": share}, held_out, 0)
    assert not (sample.trains("a", key) and sample.holds_out(key))
    assert Sample({"a": 1.0}, 0.0, 0).trains("a", key)
    assert not Sample({"a": 0.0}, 0.0, 0).trains("a", key)
