"""One fine-tuning job in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from common.files import atomic_write
from common.message import as_tree
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
        "data_message": as_tree(job.data_note),
        "examples": job.examples,
        "settings": {**job.training.values, "threads": job.threads, "precision": job.precision},
        "model_hash": job.model_hash,
        "data_hash": job.data_hash,
        "fingerprint": job.fingerprint,
    }
    if outcome.one_answer is not None:
        row["one_answer"], row["one_answer_share"] = outcome.one_answer
    with atomic_write(out / "predictions.jsonl", as_given=True) as stream:
        write_predictions(stream, outcome.guids, outcome.predictions)
    if outcome.test_guids:
        with atomic_write(out / "predictions-test.jsonl", as_given=True) as stream:
            write_predictions(stream, outcome.test_guids, outcome.test_predictions)
    with atomic_write(out / "result.json") as stream:
        json.dump(row, stream, ensure_ascii=False, indent=1)
        stream.write("\n")
    return row
