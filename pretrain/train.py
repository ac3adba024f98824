"""Train: one process of a run.

`hunmin run` starts it as a process of its own, or a launcher as several; `runs/x/pretrain.partial` is the link to the
unfinished work:

    python -m pretrain.train runs/x/pretrain.partial/logs/job.json
    python -m pretrain.parallel.agent 2 runs/x/pretrain.partial/logs/job.json
    python -m torch.distributed.run --standalone --nproc-per-node 2 -m pretrain.train JOB.json

Where a launcher starts `hunmin run` itself (srun, pods), `hunmin.pipeline.joint_training` calls `train_job`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from common.errors import HunminError
from common.output import guard_output
from common.process import die_with_parent, end_process, say_waiting
from common.progress import say
from common.settings import parse_settings
from pretrain.parallel.agent import STOP_SIGNALS, ignore_stops
from pretrain.parallel.monitor import HEARTBEAT
from pretrain.settings import PretrainSettings

if TYPE_CHECKING:
    from pretrain.parallel.processes import Process

JOB = "job.json"
"""File in the logs of a run that says what is trained."""
STOPPED_MARK = "stopped"
"""File in the logs of a run that received a stop signal and saved its state."""


UNTIL_SAVED = "training to end its step and save a checkpoint"
"""Last work of a stopped run, for messages."""


class StopFlag:
    """Set by SIGTERM or SIGINT; read between two steps. With `says`, stderr answers the first signal."""

    def __init__(self, says: bool = False) -> None:
        self.asked, self._says = False, says
        for number in STOP_SIGNALS:
            signal.signal(number, self._ask)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)  # the launcher blocked them until here

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self._says and not self.asked:
            say_waiting(UNTIL_SAVED)
        self.asked = True


def train(
    settings: PretrainSettings,
    tokens: Path,
    tokenizer: Path,
    out: Path,
    parent: Path | None = None,
    process: Process | None = None,
) -> dict[str, Any] | None:
    """Train to the last step, resuming from the newest whole checkpoint, and return the run's counts.

    Writes `out/checkpoints/step-*`, `out/logs/metrics.jsonl` and, at the end, `out/model/` (a transformers folder with
    the final weights). Returns None when the run received a stop signal: its state is saved.

    Args:
        parent: where the checkpoint of `settings.branch_from` is now; None: there.
        process: this one, which has met the others, inside its monitor; None meets them here.

    Raises:
        HunminError: see `begin` and `TrainingRun.run`; or the memory does not hold a micro-batch.
    """
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # a process that is lost is named, without its C++ stack
    # before the imports, in whose seconds a signal would end the process
    stop = StopFlag(process is not None and process.first)
    from pretrain.kernels.attention import fastest_kernels
    from pretrain.kernels.compile import load_compiled
    from pretrain.parallel import processes
    from pretrain.setup import begin
    from pretrain.trainer import TrainingRun

    monitor: AbstractContextManager[Any] = nullcontext()
    if process is None:
        process = processes.join_processes(processes.place_process(), settings.threads)
        monitor = process.monitor
    load_compiled(out)
    reporting = process.monitor.reporting(out / "logs" / HEARTBEAT, settings.steps)
    with monitor, reporting, processes.memory_errors(), fastest_kernels(settings.model.dropped_attention):
        run = TrainingRun(begin(settings, tokens, tokenizer, out, process, parent), out)
        counts = run.finish(tokenizer) if run.run(lambda: stop.asked) else None
        if counts is None and process.first:
            (out / "logs" / STOPPED_MARK).touch()
        process.meet("the end")  # nobody is left waiting for something of a process that has gone
    ignore_stops()
    processes.leave_processes()
    return counts


def train_job(job: dict[str, Any], source: str, process: Process | None = None) -> dict[str, Any] | None:
    """Train by a job (settings and paths); see `train`."""
    settings = parse_settings(PretrainSettings, job["settings"], source)
    tokens, tokenizer, out = (Path(job[name]) for name in ("tokens", "tokenizer", "out"))
    return train(settings, tokens, tokenizer, out, Path(job["parent"]) if job.get("parent") else None, process)


def main(job: str) -> int:
    """Run the job described in a JSON file and return the exit code: 0 done, or stopped and saved, else failed."""
    guard_output()
    die_with_parent()
    try:
        train_job(json.loads(Path(job).read_bytes()), job)
        return 0
    except HunminError as error:
        say(str(error), style="red")
        return error.exit_code
    except SystemExit as error:  # another process has failed, and its message stands above
        return int(error.code or 0)


if __name__ == "__main__":
    end_process(main(sys.argv[1]))
