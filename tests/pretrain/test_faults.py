"""Batches that fail, full disks and devices: counted and passed over, or refused, and nothing good is lost."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from pretrain.callbacks.checkpoint_metadata import checkpoints_by_size
from pretrain.callbacks.metrics import read_metrics

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import FAULT, MODEL, assert_same_run, finish, start, train, wait_for

PASSED_OVER = """
import torch, pretrain.trainer as e
step = e.Trainer.step
def stepping(self, number, *a, **k):
    nothing = e.StepResult(torch.zeros(len(self.names), dtype=torch.float64), torch.zeros((), dtype=torch.float64))
    return nothing if number in (7, 23) else step(self, number, *a, **k)
e.Trainer.step = stepping
"""


@pytest.mark.parametrize(
    ("factor", "zero", "processes"),
    [
        ("float('nan')", 0, 1),
        pytest.param("9.0", 1, 2, marks=pytest.mark.slow),
        pytest.param("float('inf')", 3, 2, marks=pytest.mark.drill),
        pytest.param("GRADIENT", 0, 2, marks=pytest.mark.slow),
        pytest.param("GRADIENT", 2, 1, marks=pytest.mark.slow),
    ],
)
def test_a_batch_that_fails_changes_nothing(
    factor: str, zero: int, processes: int, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """A loss that is not finite or leaps up: as if the batch had not been; killed between two such, too."""
    changes = {"zero_stage": zero, "steps": 30, "processes": processes}
    train(tmp_path / "without", tokens, tokenizer, patch=PASSED_OVER, **changes)
    run, patch = tmp_path / "run", FAULT.replace("FACTOR", factor)
    if factor == "GRADIENT":  # the loss is fine, its gradient is not
        patch = FAULT.replace('sums["loss"] * FACTOR', 'Wild.apply(sums["loss"])')
    first = start(run, tokens, tokenizer, patch=patch, **changes)
    wait_for(run / "checkpoints" / "step-00000010", first)
    first.send_signal(signal.SIGTERM)
    finish(first)
    errors = train(run, tokens, tokenizer, patch=patch, **changes)
    assert "batch 23 is skipped" in errors and "Traceback" not in errors, errors
    assert_same_run(run, tmp_path / "without")
    assert read_metrics(run / "logs" / "metrics.jsonl")[-2]["skipped"] == 2


def test_a_diverged_loss_stops_the_run_and_never_replaces_a_good_checkpoint(
    tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    wild = {"learning_rate": 1e30, "warmup_steps": 0, "max_grad_norm": 0}
    changes = {"optimizer": wild, "checkpoint_every": 1, "log_every": 50, "validate_every": 60}
    code, errors = finish(start(tmp_path, tokens, tokenizer, **changes))
    assert code == 1 and "batches had no finite loss" in errors and "Traceback" not in errors
    assert "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11" in errors and "the checkpoint of step 1 is kept" in errors
    for _, checkpoint in checkpoints_by_size(tmp_path / "checkpoints"):
        window = json.loads((checkpoint / "complete.json").read_bytes())["window"]
        assert all(abs(value) < float("inf") for value in window.values())


@pytest.mark.parametrize(("device", "stage"), [("gpu", 0), ("cpu", 0), ("cpu", 3)])
def test_a_micro_batch_that_does_not_fit_is_found_before_the_run(
    device: str, stage: int, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    allocations = {
        "gpu": 'raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")',
        "cpu": "torch.empty(2**60)",
    }
    full = f"""
import torch, pretrain.models.encoder as m
def forward(self, *a, **k):
    {allocations[device]}
m.MaskedRowsModel.forward = forward
"""
    code, errors = finish(start(tmp_path, tokens, tokenizer, patch=full, zero_stage=stage))
    assert code == 2 and "halve pretrain.micro_batch" in errors and "Traceback" not in errors
    assert not list((tmp_path / "checkpoints").glob("step-*")) and not (tmp_path / "logs" / "metrics.jsonl").exists()


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_a_full_disk_keeps_the_last_checkpoint_and_says_so(
    processes: int, straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """Of two processes the one that does not write is told, and does not wait in a collective for the other.

    torch raises no OSError for a write that fails; a limit on the size of files stands in for a full disk.
    """
    full = """
import resource, signal, pretrain.trainer as e
step = e.Trainer.step
def stepping(self, number, *a, **k):
    if number == 15:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    return step(self, number, *a, **k)
e.Trainer.step = stepping
"""
    code, errors = finish(start(tmp_path, tokens, tokenizer, processes, patch=full))
    assert code == 1 and "the disk is full" in errors and "Traceback" not in errors, errors
    assert [step for step, _ in checkpoints_by_size(tmp_path / "checkpoints")] == [10]
    (tmp_path / "sitecustomize.py").unlink()
    train(tmp_path, tokens, tokenizer, processes)
    assert processes > 1 or (tmp_path / MODEL).read_bytes() == (straight / MODEL).read_bytes()


@pytest.mark.slow
def test_a_run_that_diverges_at_its_end_keeps_the_last_good_checkpoint(
    tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """It is not finished with weights that give no finite loss, however often it is started."""
    wild = {"learning_rate": 1e30, "warmup_steps": 0, "max_grad_norm": 0}
    changes = {"optimizer": wild, "steps": 6, "checkpoint_every": 1, "keep_last": 1}
    for _ in range(2):
        code, errors = finish(start(tmp_path, tokens, tokenizer, **changes))
        assert code == 1 and "the last batch was skipped" in errors and "Traceback" not in errors, errors
        assert [step for step, _ in checkpoints_by_size(tmp_path / "checkpoints")] == [1]
        assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_a_last_batch_that_fails_alone_ends_a_run(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    errors = train(tmp_path, tokens, tokenizer, patch=FAULT.replace("FACTOR", "float('nan')"), steps=24)
    assert "batch 23 is skipped" in errors, errors
    assert json.loads((tmp_path / "counts.json").read_bytes())["skipped"] == 2
    rows = [row for row in read_metrics(tmp_path / "logs" / "metrics.jsonl") if "padding" in row]
    assert [row["step"] for row in rows if row["skipped"]] == [8, 12, 16, 20, 24]
    assert all(row["padding"] < 0.02 for row in rows)  # of skipped batches nothing is counted, nor missed


@pytest.mark.slow
def test_a_stop_while_batches_fail_saves_the_next_good_step(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    patch = (
        FAULT.replace("FACTOR", "float('nan')")
        + """
inner = e.Trainer.step
def asked(self, number, *a, **k):
    import os, signal
    if number == 7:
        os.kill(os.getpid(), signal.SIGTERM)
    return inner(self, number, *a, **k)
e.Trainer.step = asked
"""
    )
    errors = train(tmp_path, tokens, tokenizer, patch=patch)
    assert "stopped as asked after step 9" in errors, errors
    assert [step for step, _ in checkpoints_by_size(tmp_path / "checkpoints")] == [9]
