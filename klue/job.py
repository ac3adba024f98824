"""One fine-tuning job in this process: `python -m klue.job JOB.json` reads the job and writes its result."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from common.errors import HunminError
from common.files import atomic_write
from klue.plan import Job
from klue.score import write_predictions
from klue.tasks import get_task


def run_job(job: Job) -> dict[str, Any]:
    """Fine-tune, write predictions.jsonl and then result.json into the job's folder, and return the result row.

    The presence of result.json means that the job is finished.
    """
    from klue.finetune import finetune

    outcome, out = finetune(job), Path(job.out)
    row = {
        "model": job.model_name,
        "task": job.task,
        "init": job.init,
        "seed": job.seed,
        "metric": get_task(job.task).selection,
        "best": outcome.best,
        "last": outcome.last,
        "data_note": job.data_note,
        "examples": job.examples,
        "settings": {**job.training.model_dump(), "threads": job.threads, "precision": job.precision},
        "model_hash": job.model_hash,
        "data_hash": job.data_hash,
        "fingerprint": job.fingerprint,
    }
    with atomic_write(out / "predictions.jsonl") as stream:
        write_predictions(stream, outcome.guids, outcome.predictions)
    with atomic_write(out / "result.json") as stream:
        json.dump(row, stream, ensure_ascii=False, indent=1)
        stream.write("\n")
    return row


def run_file(path: str) -> int:
    """Run the job in a file and return the exit code; an error that a person can understand comes as one message."""
    try:
        run_job(Job.model_validate_json(Path(path).read_bytes()))
    except HunminError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(run_file(sys.argv[1]))
