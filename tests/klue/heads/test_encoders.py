"""Encoders of every family with heads of every kind: the loss falls, and what they predict can be scored."""

import numpy as np
import pytest
import torch

from klue.features import load_tokenizer
from klue.finetune import batch_tensors, build_optimizer, predict, train_step
from klue.heads import build_head
from tests.klue.families import FAMILIES, write_family
from tests.klue.heads.test_heads import CPU, make_job
from tests.klue.names import KLUE_TASKS as TASKS


@pytest.fixture(scope="module")
def lines(sample_benchmark):
    found = [line for path in sorted(sample_benchmark.rglob("*_train.*")) for line in path.read_text().splitlines()]
    return found[::5]


ADDS_TO_THE_MODEL = ("klue-re", "wos")
"""Tasks that add tokens to a family's embeddings, or write with them: tried with all."""
OTHERS = [name for name in TASKS if name not in ADDS_TO_THE_MODEL]
CASES = [(family, name) for number, family in enumerate(FAMILIES) for name in (*ADDS_TO_THE_MODEL, OTHERS[number % 6])]


@pytest.fixture(scope="module")
def folders(lines, tmp_path_factory):
    return {name: write_family(name, tmp_path_factory.mktemp(name), lines) for name in FAMILIES}


@pytest.mark.parametrize(("family", "name"), CASES)
def test_any_encoder_folder(family, name, folders, sample_benchmark, tmp_path):
    task, folder = TASKS[name], folders[family]
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
