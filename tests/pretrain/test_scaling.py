"""fp16: the loss scale finds its place, is kept by checkpoints, and stays out of what else is skipped."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from pretrain.callbacks.checkpoint_metadata import checkpoints_by_size, read_metadata
from pretrain.callbacks.metrics import read_metrics

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import FAULT, RUN, assert_near, assert_same_run, kill_when, start, train

pytestmark = pytest.mark.slow

HALF: dict[str, Any] = {"model": {**RUN["model"], "dropout": 0.0}, "steps": 24, "dtype": "fp16"}

TOO_LARGE = """
import pretrain.callbacks.guard as g

g.FIRST_SCALE, g.GROWTH_STEPS = 2.0 ** 40, 12
"""
"""A scale at which gradients overflow until it has halved some ten times, and which then grows within the run."""


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, tokens: Path, tokenizer: Path) -> Path:
    """The same run in fp32."""
    out = tmp_path_factory.mktemp("full")
    train(out, tokens, tokenizer, **{**HALF, "dtype": "fp32"})
    return out


@pytest.mark.parametrize(("processes", "zero"), [(1, 0), (2, 1), (2, 3)])
def test_fp16_stays_near_fp32(
    processes: int, zero: int, full: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    train(tmp_path, tokens, tokenizer, processes, **HALF, zero_stage=zero)
    assert_near(full, tmp_path, 0.02)
    half, whole = (
        [row for row in read_metrics(out / "logs" / "metrics.jsonl") if "loss" in row] for out in (tmp_path, full)
    )
    assert [row["loss_scale"] for row in half] == [65536] * 6 and not half[-1]["skipped"]
    norms = [[row["gradient_norm"] for row in rows] for rows in (half, whole)]  # without the scale, before clipping
    assert norms[0] == pytest.approx(norms[1], rel=0.05)
    assert all(tensor.dtype == torch.float32 for tensor in load_file(tmp_path / "model" / "model.safetensors").values())


@pytest.mark.parametrize(
    ("processes", "zero"), [(2, 0), *(pytest.param(2, zero, marks=pytest.mark.drill) for zero in (2, 3))]
)
def test_overflows_lower_the_scale_and_a_kill_among_them_changes_nothing(
    processes: int, zero: int, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """More of them than `max_skipped`: they are no faults of the batches. Saved is after the first good step."""
    changes = {**HALF, "zero_stage": zero, "steps": 48, "max_skipped": 0, "processes": processes}
    straight, run = tmp_path / "straight", tmp_path / "run"
    train(straight, tokens, tokenizer, patch=TOO_LARGE, **changes)
    rows = [row for row in read_metrics(straight / "logs" / "metrics.jsonl") if "skipped" in row]
    assert [row["step"] for row in rows] == list(range(4, 49, 4))
    assert rows[-1]["skipped"] > 10 and "loss" not in rows[0] and "loss" in rows[-1]
    assert json.loads((straight / "counts.json").read_bytes())["skipped"] == rows[-1]["skipped"]
    assert 2.0 ** (40 - rows[-1]["skipped"]) < rows[-1]["loss_scale"] < 2**40  # it has grown since
    assert checkpoints_by_size(straight / "checkpoints")[0][0] > 10  # never weights that a batch has just failed on
    first = start(run, tokens, tokenizer, patch=TOO_LARGE, **changes)
    saved = run / "checkpoints" / checkpoints_by_size(straight / "checkpoints")[0][1].name
    kill_when(saved, first)
    errors = train(run, tokens, tokenizer, patch=TOO_LARGE, **changes)
    assert "resuming at step" in errors, errors
    assert_same_run(run, straight)
    marks = [read_metadata(checkpoints_by_size(out / "checkpoints")[-1][1]) or {} for out in (straight, run)]
    assert marks[0]["guard"] == marks[1]["guard"] and marks[0]["guard"]["overflows"] > 10
    assert marks[0]["guard"]["skipped"] == []


@pytest.mark.parametrize(("processes", "zero"), [(1, 0), (2, 2)])
def test_a_batch_without_a_finite_loss_is_no_overflow(
    processes: int, zero: int, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    patch = FAULT.replace("FACTOR", "float('nan')")
    changes = {**HALF, "zero_stage": zero, "processes": processes}
    errors = train(tmp_path, tokens, tokenizer, patch=patch, **changes)
    assert "batch 7 is skipped" in errors and "batch 23 is skipped" in errors, errors
    row = [row for row in read_metrics(tmp_path / "logs" / "metrics.jsonl") if "skipped" in row][-1]
    assert row["skipped"] == 2 and row["loss_scale"] == 65536


def test_an_overflow_in_the_last_batch_ends_a_run_as_well(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    """Nothing was held out that could vouch for the weights; they are those of the step before."""
    patch = FAULT.replace('sums["loss"] * FACTOR', 'Wild.apply(sums["loss"])')
    errors = train(tmp_path, tokens, tokenizer, patch=patch, **{**HALF, "validation_samples": 0})
    assert "Traceback" not in errors, errors
    assert checkpoints_by_size(tmp_path / "checkpoints")[-1][0] == 24
    assert (tmp_path / "model" / "model.safetensors").exists()
