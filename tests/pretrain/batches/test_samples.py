"""Samples: nothing dropped, nothing doubled, for both kinds."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from pretrain.batches.layouts import sentence_borders
from pretrain.batches.plans import make_layout
from pretrain.batches.samples import SampleSet
from tokenizer.shards import TokenShards

CONTINUES = np.arange(100) >= 65


def make(shards: TokenShards, kind: str, length: int) -> SampleSet:
    layouts = [make_layout(kind, shards, index, length) for index in range(len(shards.shards))]
    return SampleSet(shards, list(enumerate(layouts)), length, CONTINUES)


@pytest.mark.parametrize("kind", ["contiguous", "full-sentences"])
@pytest.mark.parametrize("length", [8, 33, 512])
def test_samples_joined_give_back_every_token(tokens: Path, kind: str, length: int) -> None:
    shards = TokenShards(tokens)
    samples = make(shards, kind, length)
    batch = samples.batch(np.arange(len(samples)))
    joined = np.concatenate([row[1 : n - 1] for row, n in zip(batch.ids_BS, batch.lengths_B, strict=True)])
    assert np.array_equal(joined, np.concatenate([shards.tokens(i) for i in range(2)]))
    assert (batch.ids_BS[:, 0] == 0).all()
    last = batch.ids_BS[np.arange(len(samples)), batch.lengths_B - 1]
    assert (last == 2).all()
    real = batch.lengths_B.sum() / batch.ids_BS.size
    assert samples.padding == pytest.approx(1 - real)


def test_contiguous_samples_have_no_padding_but_at_shard_ends(tokens: Path) -> None:
    samples = make(TokenShards(tokens), "contiguous", 16)
    lengths = samples.batch(np.arange(len(samples))).lengths_B
    assert (lengths < 16).sum() <= 2


def test_cut_words_are_told(tokens: Path) -> None:
    samples = make(TokenShards(tokens), "contiguous", 16)
    batch = samples.batch(np.arange(len(samples)))
    assert np.array_equal(batch.unmaskable_BS[:, 1], CONTINUES[batch.ids_BS[:, 1]])
    # the next sample of the same shard starts with the rest of the word
    full = batch.lengths_B[:-1] == 16
    assert (
        np.array_equal(batch.unmaskable_BS[:-1, 14][full], batch.unmaskable_BS[1:, 1][full])
        and batch.unmaskable_BS.any()
    )


def test_full_sentences_end_at_sentence_ends(tokens: Path) -> None:
    shards = TokenShards(tokens)
    borders = sentence_borders(np.asarray(shards.sentences(0)), 60)
    assert np.isin(borders, shards.sentences(0)).all()
    # greedy: a sample could not have taken one more sentence
    ends = np.asarray(shards.sentences(0))
    for start, end in itertools.pairwise(borders[:-1]):
        following = ends[np.searchsorted(ends, end) + 1]
        assert end - start <= 60 < following - start


def test_no_sentences_no_samples() -> None:
    assert list(sentence_borders(np.array([0]), 10)) == [0]
