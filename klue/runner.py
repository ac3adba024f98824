"""The klue stage: all jobs of a model, several at once, restartable, one result row a job."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from common.errors import HunminError
from common.files import atomic_write, sha256_file
from common.progress import ProgressBar, say
from common.settings import settings_hash
from klue.examples import Splits, load_splits
from klue.features import load_tokenizer, make_features, save_features
from klue.job_pool import JobPool
from klue.model_folder import ModelFacts, read_model_folder
from klue.plan import Job, features_folder, plan_jobs, steps_of
from klue.results import sort_rows, summarize
from klue.settings import KlueSettings, resolve_training
from klue.tasks import get_task

LOG_TAIL = 12
"""Lines of a failed job's log that are shown."""
POLL = 0.5
"""Seconds between two looks at how far the jobs are."""


def run_klue(settings: KlueSettings, model: Path, out: Path) -> dict[str, Any]:
    """Fine-tune and score a model on the tasks of the settings; write results.jsonl and summary.json.

    Each job leaves jobs/<task>-<init>-<seed>/result.json and predictions.jsonl, and its output under logs/. Jobs that
    are finished already, with the same settings, model and data, are not redone.

    Args:
        settings: the stage's settings.
        model: folder of an encoder with its tokenizer.
        out: the stage's folder.

    Returns:
        {"jobs": how many, "examples": {task: counts}, "scores": the summary's entries}.

    Raises:
        UserError: model, data or settings do not fit.
        HunminError: jobs failed; all others were run first.
    """
    facts = read_model_folder(model)
    splits = {}
    for name in settings.tasks:
        task = get_task(name)
        cut = resolve_training(settings, task, facts.hidden_size).max_train_examples
        splits[name] = load_splits(task, Path(settings.data), cut)
    data = settings_hash({name: [sha256_file(path) for path in split.files] for name, split in splits.items()})
    jobs = plan_jobs(settings, facts, splits, data, out)
    (out / "logs").mkdir(parents=True, exist_ok=True)
    waiting = [job for job in jobs if finished_row(job) is None]
    if len(waiting) < len(jobs):
        say(f"klue: {len(jobs) - len(waiting)} of {len(jobs)} jobs are finished already")
    if waiting:
        waiting = write_features(waiting, splits, facts, out)
        failures = run_jobs(waiting, settings, out)
        if failures:
            raise failed(failures, len(jobs))
    rows = sort_rows(row for row in map(finished_row, jobs) if row is not None)
    summary = summarize(rows)
    _write_results(rows, summary, out)
    shutil.rmtree(features_folder(out), ignore_errors=True)
    return {"jobs": len(rows), "examples": {n: s.counts for n, s in splits.items()}, "scores": summary}


def finished_row(job: Job) -> dict[str, Any] | None:
    """Return the result row of a job that finished with the same settings, model and data, else None."""
    try:
        row = json.loads((Path(job.out) / "result.json").read_bytes())
    except (OSError, ValueError):
        return None
    return row if row.get("fingerprint") == job.fingerprint else None


def write_features(jobs: list[Job], splits: dict[str, Splits], model: ModelFacts, out: Path) -> list[Job]:
    """Write the features of the jobs' tasks and return the jobs with their counts of inputs.

    Features are made anew: leftovers of an earlier attempt may stem from other settings.
    """
    shutil.rmtree(features_folder(out), ignore_errors=True)
    inputs = {}
    for name, job in {job.task: job for job in jobs}.items():
        task, split, length = get_task(name), splits[name], job.training.max_length
        tokenizer = load_tokenizer(model.folder)  # anew: a task may add tokens to it
        pair = (("train", split.train), ("dev", split.dev))
        made = {which: make_features(task, examples, tokenizer, model, length) for which, examples in pair}
        Path(job.features).parent.mkdir(parents=True, exist_ok=True)
        save_features(made, Path(job.features))
        inputs[name] = len(made["train"].owner)
    return [job.model_copy(update={"inputs": inputs[job.task]}) for job in jobs]


def device_slots(settings: KlueSettings) -> list[str]:
    """Return a device for each job that may run at once: "cpu", or the GPUs in turn.

    Raises:
        HunminError: GPUs are asked for and there are none.
    """
    gpus = 0
    if settings.device != "cpu":
        import torch

        gpus = torch.cuda.device_count()
    if settings.device == "cuda" and not gpus:
        raise HunminError("no GPU is visible", "klue.device=cuda needs one", "set klue.device=auto")
    if gpus:
        return [f"cuda:{i % gpus}" for i in range(settings.workers or gpus)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ["cpu"] * (settings.workers or max(1, cores // settings.threads))


def run_jobs(jobs: list[Job], settings: KlueSettings, out: Path) -> dict[str, str]:
    """Run jobs, as many at once as there are slots, and return {job name: what went wrong} of those that failed."""
    slots, queue, logs = device_slots(settings), list(jobs), out / "logs"
    running: dict[Path, Job] = {}
    failures: dict[str, str] = {}
    total = sum(map(steps_of, jobs))
    with (
        JobPool(Path(jobs[0].model), settings.threads, logs / "job_server.log") as pool,
        ProgressBar("klue", total, "steps") as bar,
    ):
        settled = 0
        while queue or running:
            while queue and slots:
                job = queue.pop(0).model_copy(update={"device": slots.pop(0)})
                file = (logs / f"{job.name}.job.json").resolve()
                Path(job.history).unlink(missing_ok=True)
                with atomic_write(file) as stream:
                    stream.write(job.model_dump_json(indent=1) + "\n")
                pool.start(file, (logs / f"{job.name}.log").resolve())
                running[file] = job
            for file, code in pool.ended(POLL):
                job = running.pop(file)
                slots.append(job.device)
                settled += steps_of(job)
                row = finished_row(job)
                if code or row is None:
                    failures[job.name] = _failure(code, logs / f"{job.name}.log")
                    say(f"klue: {job.name} failed: {failures[job.name]}", style="red")
                else:
                    say(f"klue: {job.name}: {row['metric']} {_shown(row['best'][row['metric']])}")
            bar.advance(settled + sum(map(_steps_done, running.values())) - bar.done)
    return failures


def failed(failures: dict[str, str], jobs: int) -> HunminError:
    """Return the error that names the failed jobs, each with what went wrong."""
    named = "\n".join(f"  - {name}: {reason}" for name, reason in sorted(failures.items()))
    return HunminError(
        f"{len(failures)} of {jobs} fine-tuning jobs failed\n{named}",
        "every job ends with scores",
        "mend the cause and run the same command again: finished jobs are kept",
    )


def _failure(code: int, log: Path) -> str:
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    end = "\n".join(f"      | {line}" for line in lines[-LOG_TAIL:])
    how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    return f"{how}; the end of {log}:\n{end}"


def _steps_done(job: Job) -> int:
    try:
        return int(json.loads(Path(job.history).read_bytes().splitlines()[-1])["step"])
    except (OSError, ValueError, IndexError):
        return 0


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"


def _write_results(rows: list[dict[str, Any]], summary: list[dict[str, Any]], out: Path) -> None:
    with atomic_write(out / "results.jsonl") as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    with atomic_write(out / "summary.json") as stream:
        json.dump(summary, stream, ensure_ascii=False, indent=1)
        stream.write("\n")
