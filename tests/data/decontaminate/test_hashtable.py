"""Every key is found in its slot, and nothing else is."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from data.decontaminate.hashtable import build_hash_table, find_slots, sift

KEYS = st.sets(
    st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 40), st.integers(2**64 - 40, 2**64 - 1)), max_size=80
)


@settings(max_examples=200)
@given(KEYS, KEYS)
def test_slots_are_ranks(inside: set[int], others: set[int]) -> None:
    keys = np.array(sorted(inside), np.uint64)
    asked = np.array([*sorted(inside), *sorted(others), 0], np.uint64)
    rank = {key: i for i, key in enumerate(keys.tolist())}
    table = build_hash_table(keys)
    assert find_slots(table, asked).tolist() == [rank.get(key, -1) for key in asked.tolist()]
    likely = np.empty(len(asked), np.uint64)
    some = likely[: sift(table, asked, likely)].tolist()
    assert [key for key in some if key in inside] == [key for key in asked.tolist() if key in inside]
