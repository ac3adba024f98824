"""Order: permutations by arithmetic, each sample once an epoch, any slice at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pretrain.batches.order import SampleOrder, permute
from pretrain.batches.random_numbers import key_of


@settings(max_examples=80)
@given(st.integers(1, 3000), st.integers(0, 2**63))
def test_permute_is_a_permutation(size: int, key: int) -> None:
    out = permute(np.arange(size), size, key)
    assert sorted(out) == list(range(size))


def test_any_element_alone_gives_the_same() -> None:
    whole = permute(np.arange(1000), 1000, 5)
    assert [int(permute(np.array([i]), 1000, 5)[0]) for i in range(0, 1000, 37)] == list(whole[::37])


def test_permutations_look_random() -> None:
    size = 10_000
    first, second = (permute(np.arange(size), size, key) for key in (1, 2))
    assert abs(np.corrcoef(np.arange(size), first)[0, 1]) < 0.05
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.05
    assert (first == second).sum() < 10


def test_works_far_beyond_memory() -> None:
    size = 10**12
    out = permute(np.array([0, 1, size - 1]), size, 3)
    assert len(set(out)) == 3 and (out < size).all()


def test_positions_outside_are_refused() -> None:
    with pytest.raises(ValueError, match="positions"):
        permute(np.array([5]), 5, 0)


def test_every_training_sample_once_an_epoch_and_none_held_out() -> None:
    order = SampleOrder(1003, 100, seed=9)
    held_out = set(order.validation())
    assert len(held_out) == 100
    epochs = [order.train(epoch * order.size, order.size)[0] for epoch in range(3)]
    for ids in epochs:
        assert len(set(ids)) == 903 and not set(ids) & held_out
    assert not np.array_equal(epochs[0], epochs[1])
    ids, numbers = order.train(900, 10)
    assert list(numbers) == [0, 0, 0, 1, 1, 1, 1, 1, 1, 1]
    assert np.array_equal(ids[3:], epochs[1][:7])


def test_at_most_a_tenth_is_held_out() -> None:
    assert SampleOrder(50, 1000, 0).held_out == 5


def test_keys_differ() -> None:
    keys = {key_of(seed, epoch, sample) for seed in range(10) for epoch in range(10) for sample in range(100)}
    assert len(keys) == 10_000
    assert key_of(1, 2) != key_of(2, 1)
