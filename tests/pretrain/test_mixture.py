"""Shards that come several times in an epoch, and shards that are held out: what training and validation go through."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from common.errors import UserError
from pretrain.batches.loader import Loader, plan_samples
from tests.pretrain.batches.test_loader import KINDS, settings_of
from tests.pretrain.small_tokens import make_tokens

COPIES = {0: 0, 1: 1, 2: 3}
"""Copies of each shard."""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three shards whose tokens tell them apart: one held out, one that comes once, one that comes three times."""
    folder = make_tokens(tmp_path_factory.mktemp("mixed") / "tokens", seed=5, documents=90, shards=3)
    meta = json.loads((folder / "tokens.json").read_text())
    for shard, copies in COPIES.items():
        path = folder / f"tokens-{shard:05d}.bin"
        tokens = np.fromfile(path, "<u2")
        tokens[tokens >= 5] = 5 + shard  # words w0, w1, w2
        tokens.tofile(path)
        if copies != 1:
            meta["shards"][shard]["copies"] = copies
    (folder / "tokens.json").write_text(json.dumps(meta))
    return folder


def words(loader: Loader, samples, ids) -> Counter:
    """Return how many tokens of each shard some samples hold."""
    batch = samples.batch(np.asarray(ids))
    counts = Counter(batch.ids_BS[batch.ids_BS >= 5].tolist())
    return Counter({token - 5: number for token, number in counts.items()})


@pytest.mark.parametrize("kind", KINDS)
def test_an_epoch_goes_through_each_shard_as_often_as_it_says(kind, mixed, tokenizer, tmp_path):
    run = settings_of(kind, validation_samples=20)
    plan_samples(run, mixed, tmp_path)
    loader = Loader(run, mixed, tokenizer, tmp_path, 0, 1)
    size = loader.order.size
    for epoch in range(2):
        ids, epochs = loader.order.train(epoch * size, size)
        assert sorted(ids.tolist()) == list(range(size)) and set(epochs.tolist()) == {epoch}
    counts = words(loader, loader.samples, range(size))
    stored = {shard: int((np.fromfile(mixed / f"tokens-{shard:05d}.bin", "<u2") >= 5).sum()) for shard in COPIES}
    assert counts[0] == 0
    if kind == "sentence-pairs":  # random second texts come on top
        assert counts[2] / counts[1] == pytest.approx(3 * stored[2] / stored[1], rel=0.05)
    else:
        assert (counts[1], counts[2]) == (stored[1], 3 * stored[2])
    held_out = words(loader, loader.at(0)[1].held_out, loader.validation_ids)
    assert set(held_out) == {0} and len(loader.validation_ids) == 20


def test_copies_of_a_sample_have_masks_of_their_own(mixed, tokenizer, tmp_path):
    run = settings_of("contiguous", masking={"whole_word": False})
    loader = Loader(run, mixed, tokenizer, tmp_path, 0, 1)
    of_shard_1 = sum(5 + 1 in loader.samples.batch(np.array([sample])).ids_BS for sample in range(len(loader.samples)))
    ids = of_shard_1 + np.array([0, (len(loader.samples) - of_shard_1) // 3])
    batch = loader.samples.batch(ids)
    masked = loader.at(0)[2](batch, ids, np.zeros(2, np.int64), 0)
    assert (batch.ids_BS[0] == batch.ids_BS[1]).all() and (masked.ids_BS[0] != masked.ids_BS[1]).any()


@pytest.mark.parametrize("kind", ["full-sentences", "packed"])
def test_samples_are_not_held_out_where_their_text_comes_again(kind, mixed, tokenizer, tmp_path):
    folder = tmp_path / "tokens"
    folder.mkdir()
    for path in mixed.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    meta = json.loads((folder / "tokens.json").read_text())
    meta["shards"][0]["copies"] = 2
    (folder / "tokens.json").write_text(json.dumps(meta))
    with pytest.raises(UserError, match=r"set corpus\.mixture\.held_out"):
        plan_samples(settings_of(kind, validation_samples=5), folder, tmp_path / "plans")
    plan_samples(settings_of(kind, validation_samples=0), folder, tmp_path / "plans")
