"""Training runs as processes of their own, for the tests and drills that kill, stop and resume them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pretrain.callbacks.metrics import read_metrics

sys.path.insert(0, str(Path(__file__).parent))
from warm_start import WarmProcess

Process = subprocess.Popen[bytes] | WarmProcess

LIMIT = 1200.0
"""Seconds after which a run is taken to hang: far more than any takes, however busy the machine."""

RUN: dict[str, Any] = {
    "model": {"layers": 2, "hidden": 32, "heads": 2},
    "packing": "contiguous",
    "max_seq_len": 16,
    "steps": 60,
    "global_batch": 16,
    "micro_batch": 4,
    "checkpoint_every": 10,
    "keep_last": 10,
    "log_every": 4,
    "validate_every": 20,
    "validation_samples": 16,
    "optimizer": {"learning_rate": 1e-3, "warmup_steps": 5},
    "threads": 1,
    "wandb": "off",
}

FAULT = """
import torch, pretrain.trainer as e, pretrain.models.encoder as m
class Wild(torch.autograd.Function):
    @staticmethod
    def forward(ctx, loss):
        return loss.clone()
    @staticmethod
    def backward(ctx, gradient):
        return gradient * float("nan")
forward, step, at = m.MaskedRowsModel.forward, e.Trainer.step, []
def faulty(self, *a, **k):
    sums = forward(self, *a, **k)
    return {**sums, "loss": sums["loss"] * FACTOR} if at[-1:] in ([7], [23]) and self.training else sums
def stepping(self, number, *a, **k):
    at.append(number)
    return step(self, number, *a, **k)
m.MaskedRowsModel.forward, e.Trainer.step = faulty, stepping
"""
"""Patch after which the losses of batches 7 and 23 are FACTOR times what they are."""
MODEL = "model/model.safetensors"


def signal_at(step: int, name: str) -> str:
    """Return a patch after which a process sends itself a signal before a step."""
    return f"""
import os, signal, pretrain.trainer as e
step = e.Trainer.step
def signalled(self, number, *a, **k):
    if number == {step}:
        os.kill(os.getpid(), signal.{name})
    return step(self, number, *a, **k)
e.Trainer.step = signalled
"""


def start(
    out: Path,
    tokens: Path,
    tokenizer: Path,
    processes: int = 1,
    patch: str = "",
    stderr: int | None = None,
    **changes: Any,
) -> Process:
    """Start a run; `patch` is Python that comes before it in each of its processes.

    With a `stderr` it starts as `hunmin run` starts it; else its processes are forked from one that has imported all.
    """
    settings = {**RUN, **changes, "processes": processes}
    (out / "logs").mkdir(parents=True, exist_ok=True)
    job = out / "logs" / "job.json"
    paths = {"tokens": str(tokens), "tokenizer": str(tokenizer), "out": str(out)}
    job.write_text(json.dumps({"settings": settings, **paths}))
    if patch:
        (out / "sitecustomize.py").write_text(patch)
    if stderr is None:
        return WarmProcess(job, out, processes)
    command = [sys.executable, "-m", "pretrain.train", str(job)]
    if processes > 1:
        command[2:3] = ["pretrain.parallel.agent", str(processes)]
    paths = [str(out), str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.Popen(command, env=environment, stderr=stderr)


def finish(process: Process) -> tuple[int, str]:
    _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode is not None
    return process.returncode, errors.decode()


def train(out: Path, tokens: Path, tokenizer: Path, processes: int = 1, patch: str = "", **changes: Any) -> str:
    """Train to the end, and return what was said."""
    code, errors = finish(start(out, tokens, tokenizer, processes, patch, **changes))
    assert code == 0, errors
    return errors


def kill_when(path: Path, process: Process) -> None:
    """Kill a run as soon as something is there."""
    wait_for(path, process)
    process.send_signal(signal.SIGKILL)
    finish(process)


def wait_for(path: Path, process: Process) -> None:
    until = time.monotonic() + LIMIT
    while not path.exists():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.005)


def losses(out: Path) -> list[tuple[int, float]]:
    return [(r["step"], r["loss"]) for r in read_metrics(out / "logs" / "metrics.jsonl") if "loss" in r]


def assert_same_run(first: Path, second: Path) -> None:
    """Both runs have the same losses, and left the same bytes."""
    assert losses(first) == losses(second)
    assert (first / MODEL).read_bytes() == (second / MODEL).read_bytes()


def assert_near(left: Path, right: Path, tolerance: float) -> None:
    """Both runs have logged the same steps, with losses that differ by no more."""
    pairs = list(zip(losses(left), losses(right), strict=True))
    assert all(at == step and abs(first - second) <= tolerance for (at, first), (step, second) in pairs), pairs
