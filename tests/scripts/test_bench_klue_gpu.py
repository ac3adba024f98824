"""The benchmark of fine-tuning on a GPU, small and on a CPU: what is to be measured there is proved before."""

from __future__ import annotations

import json
import sys

import pytest
import torch

from tests.klue.conftest import write_benchmark, write_model


@pytest.fixture
def bench(load_script):
    """The script as a module."""
    return load_script("bench_klue_gpu")


def test_every_way_has_a_row(bench, tmp_path, monkeypatch, capsys):
    model, data, out = write_model(tmp_path / "model"), write_benchmark(tmp_path / "data"), tmp_path / "rows.json"
    command = ["x", str(model), f"--data={data}", "--task=ynat", "--task=klue-nli", "--batch=8", "--steps=1"]
    monkeypatch.setattr(sys, "argv", [*command, "--rounds=2", "--at-once", "1", "2", f"--out={out}"])
    monkeypatch.setattr(bench, "SECONDS", 0.2)
    assert bench.main() == 0
    rows = {row["name"]: row for row in json.loads(out.read_bytes())["rows"]}
    scoring = ["scoring, TF32", "scoring, single", "scoring, bf16"]
    ways = ["training, ours", "training, pinned copies", *scoring]
    assert list(rows) == [
        *(f"ynat, {way}" for way in ways), "ynat, 1 jobs at once", "ynat, 2 jobs at once",
        *(f"klue-nli, {way}" for way in ways),
    ]  # fmt: skip
    assert all(row["value"] > 0 for row in rows.values())
    assert "differs by 0 at most, 0.00% decide otherwise" in rows["ynat, scoring, single"]["note"]
    assert "1.00 times 1" in rows["ynat, 1 jobs at once"]["note"]


def test_outputs_of_coarser_numbers_are_counted_by_hand(bench):
    truth = [{"logits": torch.tensor([[1.0, 0.0], [0.0, 1.0]])}, {"logits": torch.tensor([[0.5, 0.4]])}]
    found = [{"logits": torch.tensor([[0.75, 0.0], [0.0, 1.0]])}, {"logits": torch.tensor([[0.5, 0.625]])}]
    largest, others = bench.differences(found, truth)
    assert largest == pytest.approx(0.25) and others == pytest.approx(1 / 3)
    tags = [{"tags": torch.tensor([[1.0, 2.0], [3.0, 4.0]])}]
    assert bench.differences([{"tags": torch.tensor([[1.0, 2.0], [3.0, 5.0]])}], tags) == (1.0, 0.5)


def test_fewer_examples_than_a_batch_are_an_error(bench, tmp_path, monkeypatch, capsys):
    model, data = write_model(tmp_path / "model"), write_benchmark(tmp_path / "data")
    monkeypatch.setattr(sys, "argv", ["x", str(model), f"--data={data}", "--task=ynat", "--batch=80"])
    assert bench.main() == 2 and "ynat: 70 inputs to train on, 80 a batch" in capsys.readouterr().err
