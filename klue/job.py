"""One fine-tuning job in this process: `python -m klue.job JOB.json` reads the job and writes its result."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.errors import HunminError, UserError
from common.files import atomic_write
from klue.plan import Job
from klue.score import write_predictions


def run_job(job: Job) -> dict[str, Any]:
    """Fine-tune, write predictions.jsonl and then result.json into the job's folder, and return the result row.

    Predictions for the test set go to predictions-test.jsonl: they are scored when it is known which jobs count.

    The presence of result.json means that the job is finished.
    """
    from klue.finetune import finetune

    outcome, out = finetune(job), Path(job.out)
    row = {
        "model": job.model_name,
        "task": job.task,
        "init": job.init,
        "seed": job.seed,
        "metric": job.metric,
        "best": outcome.best,
        "last": outcome.last,
        "data_note": job.data_note,
        "examples": job.examples,
        "settings": {**job.training.values, "threads": job.threads, "precision": job.precision},
        "model_hash": job.model_hash,
        "data_hash": job.data_hash,
        "fingerprint": job.fingerprint,
    }
    with atomic_write(out / "predictions.jsonl") as stream:
        write_predictions(stream, outcome.guids, outcome.predictions)
    if outcome.test_guids:
        with atomic_write(out / "predictions-test.jsonl") as stream:
            write_predictions(stream, outcome.test_guids, outcome.test_predictions)
    with atomic_write(out / "result.json") as stream:
        json.dump(row, stream, ensure_ascii=False, indent=1)
        stream.write("\n")
    return row


def run_file(path: str) -> int:
    """Run the job in a file and return the exit code; an error that a person can understand comes as one message."""
    try:
        run_job(read_job(Path(path)))
    except HunminError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def read_job(path: Path) -> Job:
    """Return the job in a file.

    Raises:
        UserError: it is no job's file, or the job's features, which are there only while its stage runs, are gone.
    """
    rule = "a job is a file that `hunmin klue finetune` writes, logs/NAME.job.json, and runs itself"
    remedy = (
        "hunmin klue finetune MODEL --data KLUE --out FOLDER: it takes up what is not finished, "
        "with workers=0 in the command's own process, for a debugger"
    )
    try:
        job = Job.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}", rule, remedy) from None
    except ValueError:
        raise UserError(f"{path} describes no job", rule, remedy) from None
    if not Path(job.features).is_dir() or not job.features:
        raise UserError(f"{path}: the features of job {job.name} ({job.features or 'none'}) are gone", rule, remedy)
    return job


def main(arguments: Sequence[str]) -> int:
    """Run the job that the command line names and return the exit code."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        usage = UserError(
            f"python -m klue.job: {len(arguments)} arguments", "it takes one, the file of a job", "hunmin klue finetune"
        )
        print(usage, file=sys.stderr)
        return usage.exit_code
    return run_file(arguments[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
