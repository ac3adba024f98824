"""Sentence pairs: every sentence once a copy, half of the second texts from elsewhere, nothing of the held-out text."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pretrain.batches.inputs import RECTANGLES, prepare
from pretrain.batches.loader import Loader, plan_samples
from pretrain.batches.pairs import draw_pairs, plan_pairs, read_pairs
from pretrain.batches.predictions import IGNORE
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
from pretrain.settings import ModelSettings, PretrainSettings
from tests.pretrain.batches.test_layouts import DOCUMENTS, offsets
from tokenizer.shards import TokenShards

SHAPE = {"type": "bert", "layers": 1, "hidden": 8, "heads": 1}
BATCHES: dict[str, Any] = {
    "max_seq_len": 32, "steps": 10, "global_batch": 8, "micro_batch": 8, "validation_samples": 10,
    "optimizer": {"warmup_steps": 0},
}  # fmt: skip
STATIC = {"kind": "static", "dupe_factor": 3}
RUN = PretrainSettings(model=SHAPE, objective="mlm+nsp", packing="sentence-pairs", masking=STATIC, **BATCHES)


@settings(max_examples=300)
@given(DOCUMENTS, st.integers(5, 60), st.integers(0, 2**60), st.sampled_from([0.0, 0.1, 1.0]))
def test_every_token_stands_once_in_a_first_text_or_what_follows_it(
    documents: list[list[int]], room: int, key: int, short: float
) -> None:
    sentences, ends = offsets(documents)
    selected_D = np.ones(len(documents), np.bool_)
    pairs = draw_pairs(sentences, ends, selected_D, room, np.uint64(key), 0.5, short)
    seen: list[int] = []
    for a, a_end, b, b_end in pairs:
        assert a_end > a and b_end > b and a_end - a + b_end - b <= room
        seen += range(a, a_end)
        if b == a_end:
            seen += range(b, b_end)
        home, other = (int(np.searchsorted(ends, at, side="right")) for at in (a, b))
        assert a_end < ends[home] and b_end < ends[other]  # within a document, its [SEP] left out
        if b != a_end:
            assert len(documents) == 1 or home != other
            assert b in sentences
    if len(documents) > 1:  # else a random second text may happen to be what follows
        assert seen == sorted(set(range(ends[-1])) - set(ends[1:] - 1))


def test_half_are_random_a_tenth_short_and_all_lengths_are_used() -> None:
    rng = np.random.default_rng(0)
    documents = [[int(n) for n in rng.integers(5, 40, 60)] for _ in range(300)]
    sentences, ends = offsets(documents)
    pairs = draw_pairs(sentences, ends, np.ones(300, np.bool_), 125, np.uint64(1), 0.5, 0.1)
    follows = pairs[:, 2] == pairs[:, 1]
    # a short pair may have one sentence, which nothing can follow
    assert follows.mean() == pytest.approx(0.48, abs=0.02)
    sizes = pairs[:, 1] - pairs[:, 0] + pairs[:, 3] - pairs[:, 2]
    # full ones end at a sentence: at most the longest of them is missing; a random second text fills up to the brim
    assert (sizes < 125 - 40).mean() == pytest.approx(0.1 * 85 / 125, abs=0.02)
    first = (pairs[:, 1] - pairs[:, 0]) / sizes
    assert first.min() < 0.2 and first.max() > 0.8


def test_copies_differ_and_held_out_documents_stay_out_of_all_of_them(tokens: Path, tmp_path: Path) -> None:
    shards = TokenShards(tokens)
    plan_pairs(shards, tmp_path, 32, copies=3, held_out=20, seed=1)
    training, validation = read_pairs(shards, tmp_path, 3)
    assert len(training) == 6 and len(validation) == 2
    plans = {
        (n // 2, shard): np.array([p.spans(i).ravel() for i in range(len(p))]) for n, (shard, p) in enumerate(training)
    }
    for shard in range(2):
        documents = np.asarray(shards.documents(shard))
        pairs = validation[shard][1]
        spans = [span for number in range(len(pairs)) for span in pairs.spans(number)]
        unseen = {int(np.searchsorted(documents, start, side="right")) for start, _ in spans}
        assert 0 < len(unseen) < 0.2 * len(documents)
        for copy in range(3):
            used = {int(n) for n in np.searchsorted(documents, plans[copy, shard][:, [0, 2]].ravel(), side="right")}
            assert not unseen & used and len(unseen | used) == len(documents) - 1
        assert not np.array_equal(plans[0, shard], plans[1, shard])
    for _, pairs in training:
        lengths = [int(np.diff(pairs.spans(n)).sum()) + 3 for n in range(len(pairs))]
        assert pairs.sums == (sum(lengths), sum(n * n for n in lengths))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    next(tmp_path.glob("*.npy")).unlink()  # a killed run left them unfinished
    plan_pairs(shards, tmp_path, 32, copies=3, held_out=20, seed=1)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_batches_hold_pairs_whose_masks_never_change(tokens: Path, tokenizer: Path, tmp_path: Path) -> None:
    plan_samples(RUN, tokens, tmp_path)
    loader = Loader(RUN, tokens, tokenizer, tmp_path, 0, 1)
    size = loader.order.size
    steps = range(size // 8)
    seen: dict[int, bytes] = {}
    followed = 0
    for step in [*steps, *range(size // 8, size // 4)]:  # the second epoch brings the same masks
        samples, _ = loader.order.train(8 * step, 8)
        for batch, masked in loader.masked_batches(step):
            for row in range(8):
                texts, ids = batch.segment_ids_BS[row], batch.ids_BS[row]
                used = batch.lengths_B[row]
                assert ids[0] == 0 and (ids[:used] == 2).sum() == 2 and ids[used - 1] == 2
                assert set(texts[:used]) == {0, 1} and (np.diff(texts[:used]) >= 0).all() and (texts[used:] == -1).all()
                assert ids[np.flatnonzero(texts == 1)[0] - 1] == 2  # the first [SEP] belongs to the first text
                masked_ids = masked.ids_BS[row].tobytes()
                assert seen.setdefault(int(samples[row]), masked_ids) == masked_ids
                followed += bool(batch.follows_B[row])
    assert 0.3 < followed / (size // 4 * 8) < 0.6
    held_out = len(loader.validation_ids)
    assert 0 < held_out <= 10 and sum(1 for _ in loader.masked_validation()) == -(-held_out // 8)
    copies = RUN.masking.dupe_factor
    assert copies > 1 and loader.epochs == 80 / size * copies  # an epoch of the order holds that many of the corpus


@torch.no_grad()
def test_a_predicted_token_weighs_what_it_does_in_bert(tokens: Path, tokenizer: Path, tmp_path: Path) -> None:
    """Pairs are padded a lot; BERT adds the means over what is predicted, whatever the padding."""
    run = RUN.model_copy(update={"max_seq_len": 128, "model": ModelSettings(type="bert", layers=1, hidden=32, heads=2)})
    plan_samples(run, tokens, tmp_path)
    loader = Loader(run, tokens, tokenizer, tmp_path, 0, 1)
    assert loader.samples.padding > 0.15
    shards = TokenShards(tokens)
    model = MaskedRowsModel(build_model(run, build_config(run, shards.vocab_size, shards.special_ids))).eval()
    ours, theirs = [], []
    for step in range(loader.order.size // 8):
        [(batch, masked)] = loader.masked_batches(step)
        made = prepare(batch, masked, run.packing, RECTANGLES, model.objective)
        ours.append(float(model.objective.loss(model(**made.inputs), made)))
        ids = torch.from_numpy(masked.ids_BS)
        labels = torch.full_like(ids, IGNORE)
        for row, (places, row_labels) in enumerate(zip(masked.rows_BM, masked.labels_BM, strict=True)):
            used = row_labels != IGNORE
            labels[row, places[used]] = torch.from_numpy(row_labels[used])
        theirs.append(
            model.hf_model(
                input_ids=ids,
                attention_mask=torch.from_numpy((batch.segment_ids_BS >= 0).astype(np.int64)),
                token_type_ids=torch.from_numpy(batch.segment_ids_BS.clip(min=0)),
                labels=labels,
                next_sentence_label=torch.from_numpy((~batch.follows_B).astype(np.int64)),
            ).loss.item()
        )
    assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.02)


def test_static_masks_come_again_after_so_many_epochs(tokens: Path, tokenizer: Path, tmp_path: Path) -> None:
    run = {**BATCHES, "validation_samples": 0, "packing": "contiguous"}
    for kind, factor in (("static", 2), ("dynamic", 2)):
        settings_ = PretrainSettings(**run, masking={"kind": kind, "dupe_factor": factor})
        loader = Loader(settings_, tokens, tokenizer, tmp_path, 0, 1)
        rows: dict[bytes, list[bytes]] = {}
        for step in range(4 * loader.order.size // 8):
            [(batch, masked)] = loader.masked_batches(step)
            for before, after in zip(batch.ids_BS, masked.ids_BS, strict=True):
                rows.setdefault(before.tobytes(), []).append(after.tobytes())
        four = [masks for masks in rows.values() if len(masks) == 4]
        again = sum(masks[0] == masks[2] and masks[1] == masks[3] for masks in four) / len(four)
        assert (again == 1) if kind == "static" else (again < 0.1)
