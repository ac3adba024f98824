"""Fine-tuning that only pretends: what the stage around it does is tested without training."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any


def pretend(job: Any) -> Any:
    """Return what `klue.finetune.finetune` would, at once: gold labels, and scores that the job's fingerprint gives."""
    from klue.features import load_features
    from klue.finetune import Outcome
    from klue.results import metrics_of

    job.history.parent.mkdir(parents=True, exist_ok=True)
    job.history.write_text('{"step": 1}\n')
    splits = ("dev", "test") if job.examples.get("test") else ("dev",)
    examples = {split: load_features(Path(job.features), split).examples for split in splits}
    number = int(job.fingerprint[:6], 16) % 9000 / 100
    scores = {metric: number + place for place, metric in enumerate(metrics_of(job.task))} | {"step": 1, "epoch": 1.0}
    return Outcome(scores, scores, {split: {e.guid: e.label for e in part} for split, part in examples.items()})


def one_dies(job: Any) -> None:
    """Do in a process what its seed says: end well (42), be killed before (43) or after (44) its result, or fail."""
    print("so far so good", flush=True)
    if job.seed == 43:
        os.kill(os.getpid(), signal.SIGKILL)
    if job.seed == 45:
        sys.exit("it cannot be")
    row = {"task": job.task, "init": job.init, "seed": job.seed, "metric": job.metric, "data_note": "", "model": "m"}
    from common.results import encoded

    scores = {"macro_f1": float(job.seed), "step": 1}
    row |= {"best": scores, "last": scores, "examples": job.examples, "fingerprint": job.fingerprint}
    row |= {"settings": job.training.values, "model_hash": job.model_hash, "data_hash": job.data_hash}
    job.folder.mkdir(parents=True, exist_ok=True)
    (job.folder / "result.json").write_bytes(encoded(row))
    if job.seed == 44:
        os.kill(os.getpid(), signal.SIGKILL)
