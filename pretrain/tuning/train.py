"""Tune: one process of a run, `python -m pretrain.tuning.train [PROCESSES] JOB.json`, alone, by torchrun or by srun."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.process import end_process
from common.settings import parse_settings
from pretrain.parallel.trainer_process import prepare_torch, run_job
from pretrain.parallel.world import world_info
from pretrain.train import StopFlag
from pretrain.tuning.settings import TuneSettings


def tune(settings: TuneSettings, instructions: Path, out: Path, says: bool = False) -> dict[str, Any] | None:
    """Tune to the last step, resuming from the newest whole checkpoint, and return the run's counts.

    Writes `out/model`, `out/adapter` (LoRA), `out/counts.json`, `out/rejects`, `out/logs`. Returns None when a stop was
    asked for and the state is saved.

    Raises:
        UserError: the base, its tokenizer or the processes do not fit, or a checkpoint is of another run.
    """
    stop, info = StopFlag(says), world_info(os.environ)  # before the imports, in whose seconds a signal would end all
    if fault := settings.batch_fault(info.world):
        raise UserError(fault, "every process computes as many micro-batches of a global batch as the others")
    prepare_torch(info, settings.threads, bool(settings.zero_stage))
    from pretrain.tuning.trainer import train_to_end

    return train_to_end(settings, instructions, out, stop, info.world)


def main(job: str, processes: int = 1) -> int:
    """Run the job described in a JSON file and return the exit code: 0 done, or stopped and saved, else failed."""

    def work(read: dict[str, Any], source: str) -> object:
        settings = parse_settings(TuneSettings, read["settings"], source)
        return tune(settings, Path(read["instructions"]), Path(read["out"]))

    cure = "lower tune.micro_batch, or set tune.lora, tune.zero_stage or tune.gradient_checkpointing"
    return run_job("pretrain.tuning.train", job, processes, work, "a micro-batch", cure)


if __name__ == "__main__":
    end_process(main(sys.argv[-1], int(sys.argv[1]) if len(sys.argv) > 2 else 1))
