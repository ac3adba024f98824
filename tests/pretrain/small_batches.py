"""Small batches of one and several texts a sample, a model for them, and its loss one text at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from pretrain.batches.predictions import IGNORE, MaskedBatch
from pretrain.batches.samples import Batch
from pretrain.kernels import attention
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
from pretrain.settings import ModelSettings, PretrainSettings
from tests.pretrain.small_tokens import SPECIAL

LENGTH, ROWS = 24, 4


def make(kind: str = "roberta", **changes: Any) -> tuple[MaskedRowsModel, PretrainSettings]:
    shape = ModelSettings(type=kind, layers=2, hidden=32, heads=2, dropout=0.0)  # type: ignore[arg-type]
    settings = PretrainSettings(**{"model": shape, "max_seq_len": LENGTH, "steps": 10**5, **changes})
    return MaskedRowsModel(build_model(settings, build_config(settings, 50, SPECIAL))), settings


def batch_of(samples: str, sizes: list[list[int]], seed: int = 0) -> tuple[Batch, MaskedBatch]:
    """A batch whose samples hold texts of these sizes; special tokens are as good as others here."""
    rng = np.random.default_rng(seed)
    shape = (len(sizes), LENGTH)
    ids, texts = np.full(shape, SPECIAL["pad"]), np.full(shape, -1)
    rows, labels = np.zeros((len(sizes), ROWS), np.int64), np.full((len(sizes), ROWS), IGNORE)
    for b, each in enumerate(sizes):
        texts[b, : sum(each)] = np.repeat(np.arange(len(each)), each)
        ids[b, : sum(each)] = rng.integers(5, 50, sum(each))
        count = int(rng.integers(1, min(ROWS, sum(each)) + 1))
        rows[b, :count] = np.sort(rng.choice(sum(each), count, replace=False))
        labels[b, :count] = rng.integers(5, 50, count)
    lengths = np.array([sum(each) for each in sizes])
    follows = rng.random(len(sizes)) < 0.5
    counted = np.ones(len(sizes), np.bool_)
    if samples == "sentence-pairs":
        counted[-1] = False
    batch = Batch(ids, lengths, texts, np.zeros(shape, np.bool_), follows, counted)
    return batch, MaskedBatch(ids, rows, labels, 1.0)


def each_alone(model: MaskedRowsModel, batch: Batch, masked: MaskedBatch, samples: str) -> torch.Tensor:
    """The loss by transformers' own model, called on one text at a time."""
    total = torch.zeros(())
    for b in range(len(batch.ids_BS)):
        size = int(batch.lengths_B[b])
        texts = batch.segment_ids_BS[b, :size]
        groups = [texts == t for t in np.unique(texts)] if samples == "packed" else [texts >= 0]
        for group in groups:
            at = np.flatnonzero(group)
            arguments: dict[str, Any] = {"input_ids": torch.from_numpy(masked.ids_BS[b, at])[None]}
            if samples == "sentence-pairs":
                arguments["token_type_ids"] = torch.from_numpy(texts)[None]
            out = model.hf_model(**arguments)
            logits = getattr(out, "logits", None)
            logits = out.prediction_logits if logits is None else logits
            for row, label in zip(masked.rows_BM[b], masked.labels_BM[b], strict=True):
                if label != IGNORE and row in at:
                    place = int(np.flatnonzero(at == row)[0])
                    total = total + functional.cross_entropy(logits[0, place], torch.tensor(label))
            if samples == "sentence-pairs" and batch.counted_B[b]:
                label = torch.tensor(int(not batch.follows_B[b]))
                total = total + functional.cross_entropy(out.seq_relationship_logits[0], label)
    return total


def one_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the loop over texts be one operator to a compiler, as a GPU's kernel is."""
    loop = attention.attend_texts

    @torch.library.custom_op("hunmin_test::attend_texts", mutates_args=())
    def attend_texts(
        query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, borders: torch.Tensor, longest: int,
        dropout: float, scaling: float, window: int | None = None, causal: bool = False,
    ) -> torch.Tensor:  # fmt: skip
        return loop(query, key, value, borders, longest, dropout, scaling, window, causal).clone()

    attend_texts.register_fake(lambda query, *_: torch.empty_like(query))
    monkeypatch.setattr(attention, "attend_texts", attend_texts)


CASES: list[tuple[str, str, list[list[int]]]] = [
    ("full-sentences", "roberta", [[24], [20], [23]]),
    ("doc-sentences", "roberta", [[3], [24], [11], [1]]),
    ("contiguous", "roberta", [[24], [9]]),
    ("packed", "roberta", [[7, 10], [3, 4, 13], [24], [1, 1, 1]]),
    ("packed", "bert", [[5, 5, 5, 5, 4], [12, 11]]),
    ("doc-sentences", "bert", [[12], [24]]),
    ("sentence-pairs", "bert", [[8, 12], [5, 5], [20, 4], [1, 2]]),
]
