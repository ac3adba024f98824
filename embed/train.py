"""Tune an encoder: one process of a run. Started as `python -m embed.train JOB.json`, or
`python -m embed.train PROCESSES JOB.json`, which starts so many processes on this machine.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.extras import require
from common.process import end_process
from common.settings import parse_settings
from embed.settings import EmbedSettings
from pretrain.parallel.trainer_process import prepare_torch, run_job
from pretrain.parallel.world import world_info
from pretrain.train import StopFlag


def tune_embeddings(
    settings: EmbedSettings, base: Path, out: Path, name: str, reranker: bool = False
) -> dict[str, Any] | None:
    """Tune to the last step, resuming from the newest whole checkpoint; return the run's counts, None when it was
    stopped and its state is saved.

    Writes `out/model`, whose card has the name, `out/counts.json`, `out/logs` and `out/checkpoints`.

    Raises:
        UserError: data, base or processes do not fit, or a checkpoint is of another run.
    """
    stop, info = StopFlag(), world_info(os.environ)  # before the imports, in whose seconds a signal would end all
    if settings.batch % info.world:
        raise UserError(f"embed.batch ({settings.batch}) must be a multiple of the {info.world} processes")
    require("sentence_transformers", "tuning embeddings", "embed")
    prepare_torch(info, settings.threads)
    from embed.multi_vector import TokenTuner
    from embed.rerank import CrossTuner
    from embed.trainer import Tuner, train_to_end

    tuner = CrossTuner if reranker else TokenTuner if settings.kind == "multi-vector" else Tuner
    return train_to_end(settings, base, out, stop, info.world, name, tuner)


def main(job: str, processes: int = 1) -> int:
    """Run the job described in a JSON file and return the exit code: 0 done, or stopped and saved, else failed."""

    def work(read: dict[str, Any], source: str) -> object:
        settings = parse_settings(EmbedSettings, read["settings"], source)
        base, out = Path(read["base"]), Path(read["out"])
        return tune_embeddings(settings, base, out, read["name"], read.get("reranker", False))

    cure = "set embed.mini_batch, or lower embed.batch or embed.max_seq_len"
    return run_job("embed.train", job, processes, work, "a batch", cure)


if __name__ == "__main__":
    end_process(main(sys.argv[-1], int(sys.argv[1]) if len(sys.argv) > 2 else 1))
