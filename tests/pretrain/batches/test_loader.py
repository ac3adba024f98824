"""The loader: what a loss is divided by is what is predicted on average; held-out samples count once, in one shape."""

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from pretrain.batches.budgets import count_by_ordinary_tokens, mean_budget
from pretrain.batches.inputs import RECTANGLES, InputForm
from pretrain.batches.loader import Loader, plan_samples
from pretrain.batches.masking import VALIDATION_EPOCH, mask_batch
from pretrain.batches.plans import BY_ORDINARY, make_layout
from pretrain.batches.predictions import IGNORE
from pretrain.settings import PretrainSettings
from pretrain.setup import dry_run_inputs
from tests.pretrain.small_tokens import SPECIAL, make_tokens
from tokenizer.shards import TokenShards, shard_files, token_dtype, write_meta, write_shard

KINDS = ["full-sentences", "doc-sentences", "contiguous", "packed", "sentence-pairs"]
RUN: dict[str, Any] = {
    "max_seq_len": 64, "steps": 10_000, "global_batch": 1, "micro_batch": 1, "validation_samples": 0,
    "optimizer": {"warmup_steps": 0},
}  # fmt: skip


def settings_of(kind: str, **changes: Any) -> PretrainSettings:
    pairs: dict[str, Any] = {}
    if kind == "sentence-pairs":
        pairs = {"objective": "mlm+nsp", "model": {"type": "bert"}}
    return PretrainSettings(packing=kind, **{**RUN, **pairs, **changes})


@pytest.fixture(scope="module")
def unknown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tokens of which about one in twelve is [UNK]."""
    folder = make_tokens(tmp_path_factory.mktemp("unknown") / "tokens", seed=3, documents=400)
    rng = np.random.default_rng(0)
    for shard in range(2):
        path = folder / shard_files(shard)[0]
        tokens = np.fromfile(path, token_dtype(100))
        tokens[(tokens != SPECIAL["sep"]) & (rng.random(len(tokens)) < 0.08)] = SPECIAL["unk"]
        tokens.tofile(path)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate", [0.15, 0.4])
def test_as_many_tokens_are_expected_as_are_predicted(
    kind: str, rate: float, unknown: Path, tokenizer: Path, tmp_path: Path
) -> None:
    """Over an epoch: nothing but words that do not fit the rest of a budget can be missing."""
    run = settings_of(kind, masking={"rate": rate})
    plan_samples(run, unknown, tmp_path)
    loader = Loader(run, unknown, tokenizer, tmp_path, 0, 1)
    assert 200 < loader.order.size < run.steps
    masked = [loader.masked_batches(step)[0][1] for step in range(loader.order.size)]
    ratio = sum(m.predicted for m in masked) / sum(m.expected for m in masked)
    assert 0.99 < ratio <= 1 + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_the_corpus_and_the_settings_alone_say_what_is_expected(
    kind: str, unknown: Path, tokenizer: Path, tmp_path: Path
) -> None:
    run = settings_of(kind, global_batch=12, micro_batch=2, masking={"rate": 0.3, "rate_end": 0.15})
    plan_samples(run, unknown, tmp_path)
    expectations = {
        masked.expected
        for world in (1, 2, 3)
        for rank in range(world)
        for _, masked in Loader(run, unknown, tokenizer, tmp_path, rank, world).masked_batches(5)
    }
    (tmp_path / "64" / BY_ORDINARY).unlink()  # counted anew where no plan holds it
    expectations.add(Loader(run, unknown, tokenizer, tmp_path, 0, 1).masked_batches(5)[0][1].expected)
    assert len(expectations) == 1


def test_samples_are_counted_by_their_ordinary_tokens(tmp_path: Path) -> None:
    """By hand: two documents of 5 + [SEP] and 3 + [SEP] tokens, one of them [UNK]."""
    tokens = np.array([10, 11, 3, 12, 13, 2, 14, 15, 16, 2], token_dtype(100))
    entry = write_shard(tmp_path, 0, tokens, [0, 6, 10], [0, 2, 6, 10])
    write_meta(tmp_path, 100, SPECIAL, [entry], unk=1)
    shards = TokenShards(tmp_path)

    def count(kind: str) -> list[int]:
        parts = [(0, make_layout(kind, shards, 0, 8))]
        return count_by_ordinary_tokens(shards, parts, 8).tolist()

    assert count("contiguous") == [0, 0, 0, 1, 1, 0, 0]  # 10 11 ? 12 13 /, 14 15 16 /
    assert count("full-sentences") == [0, 0, 0, 1, 1, 0, 0]
    assert count("doc-sentences") == count("packed") == [0, 0, 0, 1, 1, 0, 0]
    assert count_by_ordinary_tokens(shards, [], 8).tolist() == [0] * 7
    # half of 3 and of 4, rounded, and a fifth: 2 and 2, 1 and 1
    assert mean_budget(np.array([0, 0, 0, 1, 1, 0, 0]), 0.5) == 2.0
    assert mean_budget(np.array([0, 2, 0, 0, 1]), 0.2) == pytest.approx(1 / 3)


def test_a_run_that_could_predict_nothing_is_refused(tokens: Path, tokenizer: Path) -> None:
    run = settings_of("contiguous", max_seq_len=8, masking={"rate": 0.05})
    with pytest.raises(Exception, match=r"masking\.rate=0\.05 no sample of .* is long enough"):
        Loader(run, tokens, tokenizer, Path("none"), 0, 1)


@pytest.mark.parametrize("kind", ["contiguous", "packed", "sentence-pairs"])
@pytest.mark.parametrize("held_out", [1, 7, 12, 25])
def test_held_out_samples_count_once_whatever_the_number_of_processes(
    kind: str, held_out: int, unknown: Path, tokenizer: Path, tmp_path: Path
) -> None:
    size = 4
    run = settings_of(kind, validation_samples=held_out, global_batch=12 * size, micro_batch=size)
    plan_samples(run, unknown, tmp_path)
    whole = Loader(run, unknown, tokenizer, tmp_path, 0, 1)
    ids = whole.validation_ids
    assert 0 < len(ids) <= held_out
    # all at once
    batch = whole.at(0)[1].held_out.batch(ids)
    masked = mask_batch(
        batch.ids_BS, batch.unmaskable_BS, ids, np.full(len(ids), VALIDATION_EPOCH), whole.table, run.seed, 0.15
    )
    expected = sorted(
        (ids_S.tobytes(), rows_M.tolist(), labels_M.tolist(), bool(follows))
        for ids_S, rows_M, labels_M, follows in zip(
            masked.ids_BS, masked.rows_BM, masked.labels_BM, batch.follows_B, strict=True
        )
    )
    for world in (1, 2, 3, 4):
        samples, predicted, tokens = [], 0, 0
        for rank in range(world):
            loader = Loader(run, unknown, tokenizer, tmp_path, rank, world)
            batches = list(loader.masked_validation())
            most = len(range(0, len(ids), world))  # of the first process
            assert len(batches) == loader.validation_batches() == len(range(0, most, size))
            for part, hidden in batches:
                assert part.ids_BS.shape == hidden.ids_BS.shape == (size, 64)
                assert hidden.labels_BM.shape == (size, masked.labels_BM.shape[1])
                counted = part.counted_B
                assert (hidden.labels_BM[~counted] == IGNORE).all()
                assert (part.lengths_B > 2).all()  # a real sample, so that no row of attention is empty
                predicted, tokens = predicted + hidden.predicted, tokens + part.tokens
                samples += [
                    (
                        hidden.ids_BS[b].tobytes(),
                        hidden.rows_BM[b].tolist(),
                        hidden.labels_BM[b].tolist(),
                        bool(part.follows_B[b]),
                    )
                    for b in np.flatnonzero(counted)
                ]
        assert sorted(samples) == expected
        assert predicted == masked.predicted and tokens == batch.lengths_B.sum()


def test_without_held_out_samples_there_is_no_validation(tokens: Path, tokenizer: Path) -> None:
    loader = Loader(settings_of("contiguous"), tokens, tokenizer, Path("none"), 1, 2)
    assert loader.validation_batches() == 0 and not list(loader.masked_validation())


@pytest.mark.parametrize(("batch", "first_position"), [(4, 120 * 64), (16, 0), (32, -160 * 64)])
def test_a_branch_goes_on_behind_what_its_parent_has_seen(
    batch: int, first_position: int, tokens: Path, tokenizer: Path
) -> None:
    """The parent took 10 steps of 16, and the branch goes on at step 10 with batches of its own."""
    parent = Loader(settings_of("contiguous", global_batch=16), tokens, tokenizer, Path("none"), 0, 1)
    run = settings_of("contiguous", global_batch=batch, micro_batch=batch)
    loader = Loader(run, tokens, tokenizer, Path("none"), 0, 1, first_position=first_position)
    parent_batch = parent.samples.batch(parent.order.train(160, batch)[0])
    [(branch_batch, _)] = loader.masked_batches(10)
    assert np.array_equal(branch_batch.ids_BS, parent_batch.ids_BS)
    assert loader.epochs == (first_position / 64 + run.samples_before(run.steps)) / loader.order.size
    loader.masked_batches(0)  # which a rehearsal takes, wherever the branch begins


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [RECTANGLES, InputForm(texts=True), InputForm(one_shape=True)])
def test_what_is_rehearsed_is_as_large_as_any_batch_and_of_every_form(
    kind: str, form: InputForm, unknown: Path, tokenizer: Path, tmp_path: Path
) -> None:
    """Texts side by side differ in size: the first batch was rehearsed, and a later one could be a fifth larger."""
    run = settings_of(kind, global_batch=8, micro_batch=8)
    plan_samples(run, unknown, tmp_path)
    loader = Loader(run, unknown, tokenizer, tmp_path, 0, 1, form=form)
    model: Any = SimpleNamespace(on_device=lambda inputs, device: inputs)
    rehearsed = dry_run_inputs(loader, model, torch.device("cpu"))
    batches = [batch.inputs for step in range(loader.order.size // 8) for batch in loader.micro_batches(step)]
    sizes = [inputs["ids_BS"].numel() for inputs in batches]
    assert rehearsed[0]["ids_BS"].numel() == max(*sizes, 8 * 64) and (form.texts or len(set(sizes)) == 1)
    if not form.texts:
        assert {frozenset(inputs) for inputs in batches} <= {frozenset(inputs) for inputs in rehearsed}


def test_batches_built_ahead_are_those_of_their_steps(tokens: Path, tokenizer: Path) -> None:
    run = settings_of("contiguous", global_batch=8, micro_batch=4)
    loader = Loader(run, tokens, tokenizer, Path("none"), 0, 1)
    ahead = loader.ahead(3)
    for step, batches in zip(range(3, 9), itertools.islice(ahead, 6), strict=True):
        for built, (_, expected) in zip(batches, loader.masked_batches(step), strict=True):
            assert np.array_equal(built.inputs["ids_BS"].numpy(), expected.ids_BS)
    ahead.close()
