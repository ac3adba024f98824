"""The benchmark of fine-tuning on the small benchmark of the tests."""

import sys

import numpy as np
import pytest

from tests.klue.conftest import write_benchmark, write_model


@pytest.fixture
def bench(load_script):
    """The script as a module."""
    return load_script("bench_klue")


def test_batches_larger_than_all_there_is_are_an_error(bench, tmp_path, monkeypatch, capsys):
    model, data = write_model(tmp_path / "model"), write_benchmark(tmp_path / "data")
    command = ["x", str(model), "--data", str(data), "--task", "ynat"]
    monkeypatch.setattr(sys, "argv", [*command, "--batch", "80"])
    assert bench.main() == 2
    said = capsys.readouterr().err
    assert "70 inputs to train on, 80 a batch" in said and "fix:  --batch 70" in said
    rows = bench.measure(*bench.prepare(model, data, "ynat", 35), 1, 1)
    assert [row.name for row in rows] == [
        *("ynat, ours", "ynat, grouped", "ynat, padded", "ynat, ours to grouped", "ynat, ours to padded"),
    ]
    assert all(row.value > 0 for row in rows)


def test_the_other_way_groups_lengths_and_takes_every_example_once(bench):
    lengths = np.random.default_rng(1).integers(5, 100, 640)
    batches = bench.grouped(lengths, 32, 0)
    assert sorted(np.concatenate(batches)) == list(range(640))
    spread = np.mean([lengths[batch].max() - lengths[batch].min() for batch in batches])
    assert spread < 30 < lengths.max() - lengths.min()
