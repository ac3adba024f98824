from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from klue.features import evaluation_batches, evaluation_steps, learning_rate_share, pad, train_batches

lengths = st.lists(st.integers(1, 128), min_size=1, max_size=400).map(np.array)


@given(lengths, st.integers(1, 32), st.integers(0, 5), st.integers(0, 3))
def test_an_epoch_holds_every_example_once(lengths, size, seed, epoch):
    batches = train_batches(lengths, size, seed, epoch)
    assert sorted(np.concatenate(batches)) == list(range(len(lengths)))
    assert len(batches) == -(-len(lengths) // size)
    assert all(len(batch) <= size for batch in batches)
    again = train_batches(lengths, size, seed, epoch)
    assert all((a == b).all() for a, b in zip(batches, again, strict=True))


def test_similar_lengths_stand_together_and_epochs_differ():
    lengths = np.random.default_rng(0).integers(4, 128, 1600)
    batches = train_batches(lengths, 32, 1, 0)
    padded = sum(len(batch) * lengths[batch].max() for batch in batches)
    assert padded / lengths.sum() < 1.05
    assert [b[0] for b in batches] != [b[0] for b in train_batches(lengths, 32, 1, 1)]
    longest_first = [lengths[batch].max() for batch in batches]
    assert longest_first != sorted(longest_first, reverse=True)


@given(lengths, st.integers(1, 300))
def test_evaluation_holds_every_example_once_longest_first_as_many_as_the_tokens_allow(lengths, tokens):
    batches = evaluation_batches(lengths, tokens)
    order = np.concatenate(batches)
    assert sorted(order) == list(range(len(lengths)))
    assert (np.diff(lengths[order]) <= 0).all()
    for batch in batches:
        assert len(batch) * lengths[batch].max() <= tokens or len(batch) == 1
    for batch, _ in pairwise(batches):  # one more would be too many
        assert (len(batch) + 1) * lengths[batch].max() > tokens


def test_an_evaluation_batch_of_short_examples_has_1024_at_most():
    assert [len(batch) for batch in evaluation_batches(np.full(2500, 2), 1 << 16)] == [1024, 1024, 452]


def test_pad():
    rows = [np.array([5, 6, 7]), np.array([8])]
    assert pad(rows, 1).tolist() == [[5, 6, 7], [8, 1, 1]]
    assert pad(rows, 0, multiple=8).shape == (2, 8)


@pytest.mark.parametrize(
    ("steps", "per_epoch", "expected"),
    [(8, 4, [2, 4, 6, 8]), (10, 4, [2, 5, 8, 10]), (3, 4, [1, 2, 3]), (1, 4, [1]), (7, 1, [7])],
)
def test_evaluation_steps(steps, per_epoch, expected):
    assert evaluation_steps(steps, per_epoch) == expected


def test_learning_rate_rises_and_falls_linearly():
    shares = [learning_rate_share(step, 10, 0.2) for step in range(11)]
    assert shares == pytest.approx([0, 0.5, 1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125, 0])
    assert learning_rate_share(0, 10, 0) == 1.0
    assert learning_rate_share(9, 10, 1) == 0.9
