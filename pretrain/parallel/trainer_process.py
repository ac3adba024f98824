"""One process of a run of transformers' Trainer, started by `python -m MODULE [PROCESSES] JOB.json`."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.errors import HunminError, UserError
from common.output import guard_output
from common.process import available_cores, die_with_parent
from common.progress import say
from pretrain.parallel.agent import ignore_stops, launch
from pretrain.parallel.world import WorldInfo


def run_job(
    module: str, job: str, processes: int, work: Callable[[dict[str, Any], str], object], contents: str, cure: str
) -> int:
    """Train by a job file (settings and paths); return the exit code: 0 done, or stopped and saved, else failed.

    Where memory does not suffice, the error says that it does not hold `contents`, and that `cure` is the fix.
    """
    guard_output()
    die_with_parent()
    if processes > 1:
        return launch([sys.executable, "-m", module, job], processes, Path(job).parent / "ranks")
    warnings.simplefilter("ignore", FutureWarning)
    try:
        work(json.loads(Path(job).read_bytes()), job)
        ignore_stops()
        _leave_group()
        return 0
    except HunminError as error:
        say(str(error), style="red")
        return error.exit_code
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        say(str(UserError(f"the device's memory does not hold {contents}", fix=cure)), style="red")
        return UserError.exit_code


def _leave_group() -> None:
    """Leave the Trainer's process group: a thread of it that outlives the interpreter would abort the process."""
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def prepare_torch(info: WorldInfo, threads: int | None, grouped: bool = False) -> None:
    """Set what torch and the Trainer read at their start: threads, the group (`grouped`: of one, too), pickles."""
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"  # a pickle of a checkpoint gives values, and runs nothing
    import torch

    torch.set_num_threads(threads or max(1, available_cores() // info.local_world))
    if not torch.cuda.is_available():
        os.environ.setdefault("DS_ACCELERATOR", "cpu")  # transformers asks DeepSpeed, which would warn
    if grouped or info.world > 1 or torch.cuda.is_available():
        os.environ.update(info.environment())  # without it the Trainer spreads a lone process over all GPUs
