"""The sample spends its budget evenly over sources, and is a function of seed and key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenizer.sampling import keep, source_shares


@given(st.dictionaries(st.text(max_size=5), st.integers(0, 10**9), min_size=1, max_size=8), st.floats(1, 1e10))
def test_the_budget_is_spent_and_no_source_passes_the_level(sizes: dict[str, int], budget: float) -> None:
    shares = source_shares(sizes, budget)
    taken = {name: sizes[name] * shares[name] for name in sizes}
    assert sum(taken.values()) == pytest.approx(min(budget, sum(sizes.values())), rel=1e-9, abs=1e-6)
    level = max(taken.values())
    assert all(shares[name] == 1.0 or taken[name] == pytest.approx(level) for name in sizes)


def test_keep_takes_about_the_share_and_depends_on_the_seed() -> None:
    first = [keep(str(number), 0.3, seed=1) for number in range(5000)]
    assert 0.27 < sum(first) / 5000 < 0.33
    assert first == [keep(str(number), 0.3, seed=1) for number in range(5000)]
    assert first != [keep(str(number), 0.3, seed=2) for number in range(5000)]
    assert keep("any", 1.0, 0) and not keep("any", 0.0, 0)
