"""One fine-tuning job in this process."""

from __future__ import annotations

import fcntl
from contextlib import suppress
from typing import Any

from common.files import atomic_write, remove_leftovers
from common.lock import open_lock
from common.message import as_tree
from common.results import encoded
from klue.finished import RESULT, finished_row
from klue.gold import PREDICTIONS
from klue.plan import Job
from klue.score_file import write_predictions
from klue.tasks import know_own


def run_job(job: Job) -> dict[str, Any]:
    """Fine-tune, write predictions and then result.json into the job's folder, and return the result row. Predictions
    for the test set are scored when it is known which jobs count. A job that another command finishes meanwhile is not
    done again."""
    from klue.finetune import finetune

    if job.own:  # in a process of its own
        know_own(job.own)
    job.folder.mkdir(parents=True, exist_ok=True)
    with open_lock(job.folder) as lock:
        with suppress(OSError):  # the file system knows no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        if row := finished_row(job):
            return row
        remove_leftovers(job.folder)
        (job.folder / RESULT).unlink(missing_ok=True)  # its model is asked for now: both are to be of one training
        outcome = finetune(job)
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
            **({"own": job.own.model_dump()} if job.own else {}),
        }
        if outcome.one_answer is not None:
            row["one_answer"], row["one_answer_share"] = outcome.one_answer
        with atomic_write(job.folder / PREDICTIONS["dev"], as_given=True) as stream:
            write_predictions(stream, outcome.guids, outcome.predictions)
        if outcome.test_guids:
            with atomic_write(job.folder / PREDICTIONS["test"], as_given=True) as stream:
                write_predictions(stream, outcome.test_guids, outcome.test_predictions)
        with atomic_write(job.folder / RESULT, "wb") as stream:  # the last: with it the job is finished
            stream.write(encoded(row))
    return {**row, "job": job.folder.name}
