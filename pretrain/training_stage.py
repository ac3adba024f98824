"""A stage of training, of encoders, decoders and embeddings alike: its job, its processes, how far it has come."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from common.errors import HunminError, UserError
from common.files import atomic_write
from common.process import available_cores, own_package, run_child
from pretrain.train import JOB, STOPPED_MARK, UNTIL_SAVED


class Interrupted(KeyboardInterrupt):
    """A stage received a stop signal and saved its state."""

    def __init__(self) -> None:
        super().__init__("stopped: the state is saved; the same command continues from there")


def write_job(job: dict[str, Any], out: Path) -> dict[str, Any]:
    """Write a training job into its folder, remove the mark of an earlier stop, and return the job."""
    with atomic_write(out / "logs" / JOB) as stream:
        json.dump(job, stream, indent=1)
    (out / "logs" / STOPPED_MARK).unlink(missing_ok=True)
    return job


def train_in_processes(module: list[str], out: Path, settings: Any) -> dict[str, Any]:
    """Start a module, with its arguments before the job, on the job in a training stage's folder; return its counts.

    Raises:
        HunminError: training failed or was refused; its message is on stderr.
        Interrupted: it received a stop signal; the state is saved.
    """
    command = [sys.executable, "-m", *module, str(out / "logs" / JOB)]
    threads = settings.threads or max(1, available_cores() // settings.processes)
    # threads that spin while they wait stand still for seconds when another program wants the same cores
    environment = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive", "TOKENIZERS_PARALLELISM": "false"}
    code = run_child(command, {**environment, **own_package()}, until=UNTIL_SAVED, kill=True)
    counts = out / "counts.json"
    if not code and (out / "logs" / STOPPED_MARK).exists():
        raise Interrupted
    if code == UserError.exit_code:
        raise UserError("training was refused; the message stands above")
    if code or not counts.exists():
        raise HunminError(
            f"training ended with exit code {code}",
            "the message above says why",
            "where it names no other command, the same one continues from the last checkpoint",
        )
    return take_counts(out)


def take_counts(out: Path) -> dict[str, Any]:
    """Return the counts that training has left in its folder, and remove their file: the manifest holds them."""
    path = out / "counts.json"
    counts: dict[str, Any] = json.loads(path.read_bytes())
    path.unlink()
    return counts


def checkpoints_in(folder: Path) -> dict[int, Path]:
    """Return step → checkpoint (step-N, checkpoint-N) in a folder of training."""
    numbers = ((path.name.rpartition("-")[2], path) for path in folder.glob("checkpoints/*-*"))
    return {int(number): path for number, path in numbers if number.isdigit()}


def steps_done(folder: Path) -> str:
    """Return how far a training has come, for messages."""
    steps = checkpoints_in(folder)
    return f"{max(steps):,} steps" if steps else "no checkpoint"
