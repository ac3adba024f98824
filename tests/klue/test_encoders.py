"""Encoders of every family with every task's head: the loss falls, and what they predict can be scored."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from klue.features import load_tokenizer
from klue.finetune import batch_tensors, build_optimizer, predict, train_step
from klue.heads import build_head
from tests.klue.families import FAMILIES, write_family
from tests.klue.names import KLUE_TASKS as TASKS
from tests.klue.test_heads import CPU, make_job


@pytest.fixture(scope="module")
def lines(sample_benchmark):
    found = [line for path in sorted(sample_benchmark.rglob("*_train.*")) for line in path.read_text().splitlines()]
    return found[::5]


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request, lines, tmp_path_factory):
    return write_family(request.param, tmp_path_factory.mktemp(request.param), lines)


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_any_encoder_folder(task, folder, sample_benchmark, tmp_path):
    job, train, dev = make_job(task.name, sample_benchmark, folder, tmp_path, train=4, dev=6)
    model = build_head(job, task, train.shared)
    inputs = batch_tensors(train, np.arange(2), task, job, CPU)
    torch.manual_seed(0)  # TRADE draws whether it is told the gold tokens
    model.eval()
    before = model.loss(inputs).item()
    optimizer = build_optimizer(model, 2e-4, 0.0)
    for _ in range(3):
        assert torch.isfinite(train_step(model, optimizer, 2e-4, inputs))
    torch.manual_seed(0)
    model.eval()
    assert model.loss(inputs).item() < before
    predictions = task.decode(predict(model, dev, task, job, CPU), dev, load_tokenizer(folder))
    assert [task.check(p, label) for p, label in zip(predictions, dev.labels, strict=True)] == predictions
    assert set(task.score(dev.labels, predictions)) >= set(task.metrics)
