"""Fine-tuning jobs: one done in this process, the result rows of finished ones, and the files that gather them."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from common.errors import HunminError, UserError
from common.files import atomic_write, disk_errors, read_bytes, remove_leftovers, write_text
from common.lock import open_lock
from common.manifest import described_files
from common.message import as_tree
from common.progress import say
from common.results import encoded
from klue.model_folder import ModelFacts
from klue.plan import Job, jobs_of
from klue.result_rows import PREDICTIONS, RESULTS, read_job, with_test_scores
from klue.results import sort_rows, summarize
from klue.score_file import write_predictions
from klue.tasks import know_own
from pretrain.callbacks.metrics import read_metrics

RESULT = "result.json"
"""Last file that a job writes."""
LINKED_BYTES = 1 << 24
"""Size above which a file of a job is linked, not copied."""
PLANNED = Path("logs") / "jobs.jsonl"
"""File, below the folder of results, of the names of all jobs' folders; it is written before the jobs are done."""


def finished_row(job: Job) -> dict[str, Any] | None:
    """Return the result row of a job, with the name of its folder; None where it is not finished."""
    row = _read_row(job.folder, job.fingerprint)
    # one that is to leave its model and has not is done again
    if row is None or (job.save_model and not (job.folder / "model" / "klue.json").is_file()):
        return None
    return {**row, "model": job.model_name}


def _read_row(folder: Path, fingerprint: str) -> dict[str, Any] | None:
    """Return a job's row; None where it is missing, damaged, changed or of another job, which is then done again."""
    try:
        row = read_job(folder / RESULT)
    except HunminError:
        return None
    return {**row, "job": folder.name} if row.get("fingerprint") == fingerprint else None


def gather(jobs: Sequence[Job], model: ModelFacts, out: Path, test: bool) -> list[dict[str, Any]]:
    """Write results.jsonl and summary.json of the jobs that are finished, and return their rows.

    Jobs whose folders are elsewhere are copied into `out`, without their logs; weights are linked: nobody edits them,
    and they are large. Where they are there already, what earlier commands left in results.jsonl counts, too.

    Args:
        out: folder with the gold labels; processes that write to it at once write the same bytes.
    """
    finished = [(job, row) for job in jobs if (row := finished_row(job)) is not None]
    rows = [row for _, row in finished]
    if Path(jobs[0].root) == jobs_of(out).resolve():
        rows += _earlier_rows(jobs, model, out)
    else:
        files = [(job, *file) for job, _ in finished for file in described_files(job.folder)]
        for job, name, path in files:
            if name.startswith("model/") and not job.save_model:
                continue
            target = jobs_of(out) / job.folder.name / name
            target.parent.mkdir(parents=True, exist_ok=True)
            fresh = target.with_name(f".{target.name}.{token_hex(4)}.tmp")
            with disk_errors(target):
                try:
                    (os.link if path.stat().st_size > LINKED_BYTES else shutil.copyfile)(path, fresh)
                except OSError:  # another file system, or one that knows no such links
                    shutil.copyfile(path, fresh)
                fresh.replace(target)
            fresh.unlink(missing_ok=True)  # it is left where the target is the same file
    rows = with_test_scores(sort_rows(rows), out) if test else sort_rows(rows)
    write_text(out / RESULTS, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    write_text(out / "summary.json", json.dumps(summarize(rows), ensure_ascii=False, indent=1) + "\n")
    job_names = {row["job"] for _, row in finished}
    return [row for row in rows if row["job"] in job_names]


def _earlier_rows(jobs: Sequence[Job], model: ModelFacts, out: Path) -> list[dict[str, Any]]:
    """Return the results of earlier commands that count beside those of the jobs at hand: of the same model other tasks
    and, trained alike, more seeds. A seed that is left over of other settings must not pass for a choice."""
    planned = {job.fingerprint for job in jobs}
    data = {job.task: job.data_hash for job in jobs}
    requested = {(job.task, job.init) for job in jobs}
    listed = {(str(row.get("job")), str(row.get("fingerprint"))): None for row in read_metrics(out / RESULTS)}
    rows = (_read_row(jobs_of(out) / name, fingerprint) for name, fingerprint in listed)
    earlier = [row for row in rows if row and row["fingerprint"] not in planned]
    seeds = {row["seed"] for row in earlier}
    alike = {job.model_copy(update={"seed": seed}).fingerprint for job in jobs for seed in seeds}
    counted = [
        {**row, "model": model.name}
        for row in earlier
        if row["fingerprint"] in alike
        or (
            (row["task"], row["init"]) not in requested
            and row["model_hash"] == model.hash_for(row["init"])
            and row["data_hash"] == data.get(row["task"], row["data_hash"])
        )
    ]
    if left_out := len(earlier) - len(counted):
        what = f"{left_out:,} earlier results in {out} are of another model, other data or settings"
        say(f"klue: {what}: they are not in {RESULTS} any more", style="yellow")
    return counted


def refuse_edited(out: Path) -> None:
    """Raise a UserError where results.jsonl is not what the jobs beside it have left; it is written from theirs."""
    path = out / RESULTS
    for line in read_bytes(path).splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
            result = jobs_of(out) / row["job"] / RESULT
            if not result.exists() or result.stat().st_mtime_ns > path.stat().st_mtime_ns:
                continue  # it was done again, and a kill came before the rows were gathered
            left = _read_row(result.parent, row["fingerprint"]) or {"job": "another"}
            edited = any(row.get(key) != value for key, value in left.items() if key != "model")
        except (ValueError, KeyError, TypeError):
            edited = True
        if edited:
            raise UserError(f"{path} was edited", "it is gathered anew from the jobs' files", "move it away")


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
        for split, answers in outcome.predictions.items():
            with atomic_write(job.folder / PREDICTIONS[split], as_given=True) as stream:
                write_predictions(stream, list(answers), list(answers.values()))
        with atomic_write(job.folder / RESULT, "wb") as stream:  # the last: with it the job is finished
            stream.write(encoded(row))
    return {**row, "job": job.folder.name}
