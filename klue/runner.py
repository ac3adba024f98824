"""The klue stage: all jobs of a model, several at once, restartable, one result row a job."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common.errors import HunminError
from common.files import read_bytes, remove_leftovers, write_text
from common.lock import is_locked, locked
from common.message import Message
from common.progress import ProgressBar, duration, say
from common.slurm_array import ArrayElement, ShareDone
from data.executors.local import LocalPool
from klue.collapse import share_in_words
from klue.devices import find_devices
from klue.examples import Splits, load_splits
from klue.features import check_reading, cut_note, load_tokenizer, make_features, save_features
from klue.job import PLANNED, finished_row, gather, run_job
from klue.model_folder import ModelFacts, is_finetuned, read_model_folder
from klue.plan import Job, jobs_of, plan_jobs, steps_of
from klue.result_rows import write_gold
from klue.results import summarize
from klue.settings import KlueSettings
from klue.tasks import get_task
from klue.training import resolve_training

LOG = "output.log"
"""File beside a job's history with what its process prints."""
LOG_TAIL = 12
"""Lines of a failed job's log that are shown."""
FEATURES = ".features-"
"""What names of folders with features begin with."""
ENVIRONMENT = {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
"""Environment of the jobs' processes."""
POLL = 0.5
"""Seconds between two looks at how far the jobs are."""


def run_klue(
    settings: KlueSettings,
    model: Path,
    out: Path,
    jobs: Path | None = None,
    share: ArrayElement | None = None,
    test: bool = True,
) -> dict[str, Any]:
    """Fine-tune and score a model on the tasks of the settings; write results.jsonl and summary.json.

    Each job leaves result.json and predictions.jsonl in a folder of its own, and its output in `logs` there. Jobs that
    are finished already, with the same settings, model and data, are not redone.

    Args:
        out: folder of the results, whole by itself.
        jobs: folder of the jobs' folders, which several folders of results may share. None: `out`/jobs, and results of
            earlier commands there, of the same model, count beside those of the settings.
        share: do these jobs, while others do theirs in the same folder; the last one to end writes the results. None:
            do all.
        test: whether test sets are scored, once, of the settings and evaluations that are best on dev.

    Returns:
        {"jobs": how many, "examples": {task: counts}, "scores": the summary's entries}, all of these settings alone.

    Raises:
        UserError: model, data or settings do not fit, or another command is at work in the folder.
        HunminError: jobs failed; all others were run first.
        ShareDone: the jobs of the share are finished, and others' are not.
    """
    plan = plan_stage(settings, model, jobs or jobs_of(out))
    say(str(plan))
    with locked(out, share=share is not None):
        failures, left = _run_waiting(plan, settings, out, share)
        if not left:  # the last element of an array to end writes the results of all
            write_gold(plan.splits, out)
            rows = gather(plan.jobs, plan.model, out, test)
    if failures:  # the results of the others can be looked at
        reasons = "".join(f"\n  - {name}: {reason}" for name, reason in sorted(failures.items()))
        raise HunminError(
            f"{len(failures)} of {len(plan.jobs)} fine-tuning jobs failed{reasons}",
            "every job ends with scores",
            "fix the cause and run the same command again: finished jobs are kept",
        )
    if left and share:
        raise ShareDone(
            f"element {share.rank} is done; {left:,} of {len(plan.jobs):,} jobs, of other elements, are not\n  the "
            "last one writes the results; should none be left, the same command with --executor local does the rest"
        )
    return {
        "jobs": len(rows),
        "examples": {name: split.counts for name, split in plan.splits.items()},
        "scores": summarize(rows),
    }


@dataclass(frozen=True)
class Plan:
    """What a stage has to do."""

    model: ModelFacts
    splits: dict[str, Splits]
    jobs: list[Job]
    waiting: list[Job]
    """Jobs that are not finished."""

    def __str__(self) -> str:
        tasks = Counter(job.task for job in self.jobs)
        named = ", ".join(f"{name} {tasks[name]:,}" for name in self.splits)
        text = f"klue: {len(self.jobs):,} jobs ({named})"
        done = len(self.jobs) - len(self.waiting)
        return text + (f"; {done} of {len(self.jobs)} jobs are finished already" if done else "")


def plan_stage(settings: KlueSettings, model: Path, root: Path) -> Plan:
    """Return what `run_klue` would do, writing nothing. Raises UserError where model, data or settings do not fit."""
    facts = read_model_folder(model)
    if settings.keep_head:
        from klue.saved import check_kept  # it brings torch along

        check_kept(model, [get_task(name) for name in settings.tasks])
    elif is_finetuned(model):
        say(f"{model} was fine-tuned already: its head is dropped, each task begins with a new one")
    tokenizer, splits = load_tokenizer(model), {}
    for name in settings.tasks:
        task = get_task(name)
        cut = resolve_training(settings, task, facts.hidden_size).max_train_examples
        task_splits = splits[name] = load_splits(task, settings.folder_of(name), cut, settings.source_of(name))
        check_reading(task, [*task_splits.train, *task_splits.dev, *task_splits.test], tokenizer, model)
    device = settings.device
    if device == "auto":
        import torch

        device = "cuda" if torch.cuda.device_count() else "cpu"
    jobs = plan_jobs(settings, facts, splits, device, root)
    return Plan(facts, splits, jobs, [job for job in jobs if finished_row(job) is None])


def _run_waiting(
    plan: Plan, settings: KlueSettings, out: Path, share: ArrayElement | None
) -> tuple[dict[str, str], int]:
    """Run waiting jobs, of an element its share; return what failed, by name, and how many are left to others."""
    waiting = plan.waiting
    failures: dict[str, str] = {}
    left = 0
    if share:
        # of all jobs, so that it does not depend on which are finished as an element begins
        mine = {job.name for job in plan.jobs[share.rank :: share.count]}
        waiting = [job for job in waiting if job.name in mine]
        say(f"klue: element {share.rank} of {share.count} has {len(mine):,} jobs, {len(waiting):,} to do")
    else:
        remove_leftovers(out)
        write_text(out / PLANNED, "".join(json.dumps({"job": job.folder.name}) + "\n" for job in plan.jobs))
    if waiting:
        with TemporaryDirectory(prefix=FEATURES, suffix=".tmp", dir=out) as features, locked(Path(features)):
            waiting = write_features(waiting, plan.splits, plan.model, Path(features))
            begun = time.monotonic()
            failures = run_jobs(waiting, settings, plan.model)
        done = len(waiting) - len(failures)
        seconds = time.monotonic() - begun
        say(f"klue: {done:,} of {len(waiting):,} jobs done in {duration(seconds)}")
    if share and not (left := sum(finished_row(job) is None for job in plan.jobs)):
        for path in out.glob(f"{FEATURES}*"):  # of elements that were killed
            if not is_locked(path):  # another array is at work on its own
                shutil.rmtree(path, ignore_errors=True)
    return failures, left


def write_features(jobs: list[Job], splits: dict[str, Splits], model: ModelFacts, folder: Path) -> list[Job]:
    """Write the features of the jobs' tasks and return the jobs with their features and counts of inputs."""
    made: dict[str, dict[str, Any]] = {}
    for name, job in {job.task: job for job in jobs}.items():
        task = get_task(name)
        split = splits[name]
        length = job.training.max_seq_len
        tokenizer = load_tokenizer(model.folder)  # anew: a task may add tokens to it
        parts = {"train": split.train, "dev": split.dev} | ({"test": split.test} if split.test else {})
        features = {kind: make_features(task, part, tokenizer, model, length) for kind, part in parts.items()}
        save_features(features, folder / name)
        made[name] = {"features": str((folder / name).resolve()), "inputs": len(features["train"].owner)}
        if note := cut_note(features, length):
            say(f"klue: {task.title}: {note}", style="yellow")
            made[name]["data_note"] = Message("{notes:; }", notes=[*filter(None, (split.note, note))])
    return [job.model_copy(update=made[job.task]) for job in jobs]


def run_jobs(jobs: list[Job], settings: KlueSettings, model: ModelFacts) -> dict[str, str]:
    """Run jobs, as many at once as the devices hold, and return {job name: what went wrong} of those that failed. With
    `workers` 0 they run one after another in this process, and what goes wrong by a fault of the code is raised."""
    devices, needs = find_devices(settings, jobs)
    queue, settled = list(jobs), 0
    running: dict[str, Job] = {}
    failures: dict[str, str] = {}
    with ExitStack() as stack:
        pool = bar = None
        if settings.workers == 0:  # no bar either: its thread would disturb a debugger
            import torch

            stack.callback(torch.set_num_threads, torch.get_num_threads())  # a job sets its own number
        else:
            family = model.family.replace("-", "_")  # where the library has no such module the server passes over it
            modules = [f"{__package__}.finetune", f"transformers.models.{family}.modeling_{family}"]
            threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(settings.threads))
            pool = LocalPool(modules=modules, environment={**ENVIRONMENT, **threads})
            stack.enter_context(pool)
            bar = stack.enter_context(ProgressBar("klue", sum(map(steps_of, jobs)), "steps"))
        while queue or running:
            for job in list(queue):
                device = devices.take(needs[job.name])
                if device is None:  # a smaller job may still have room
                    continue
                queue.remove(job)
                running[job.name] = job.model_copy(update={"device": device})
                log = job.history.with_name(LOG)
                if pool:
                    shutil.rmtree(log.parent, ignore_errors=True)
                    log.parent.mkdir(parents=True, exist_ok=True)
                    pool.start(job.name, run_job, running[job.name], log=log)
                    continue
                try:
                    run_job(running[job.name])
                except HunminError as error:
                    failures[job.name] = str(error)
            for name, code in pool.ended(POLL) if pool else [(name, 0) for name in running]:
                job = running.pop(name)
                devices.give(job.device, needs[name])
                settled += steps_of(job)
                if reason := _ended(job, code, failures.pop(name, None)):
                    failures[name] = reason
            if bar:
                bar.advance(settled + sum(map(_steps_done, running.values())) - bar.done)
    return failures


def _ended(job: Job, code: int, reason: str | None) -> str | None:
    """Report how a job ended and return what went wrong, None with a result; `code` is -signal where one killed it."""
    if row := finished_row(job):  # whatever became of a process after it had written its result, the job is done
        value = row["best"][row["metric"]]
        share = row.get("one_answer_share", 1.0)
        score = "undefined" if value is None else f"{value:.2f}"
        collapsed = f" (predicts one label for {share_in_words(share)})" if "one_answer" in row else ""
        say(f"klue: {job.name}: {row['metric']} {score}{collapsed}")
        return None
    log = job.history.with_name(LOG)
    if reason is None:
        reason = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        if log.is_file():
            lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
            reason += f"; the end of {log}:\n" + "\n".join(f"      | {line}" for line in lines[-LOG_TAIL:])
        else:
            reason += " before it began; what it said stands above"
    say(f"klue: {job.name} failed: {reason}", style="red")
    return reason


def _steps_done(job: Job) -> int:
    try:
        return int(json.loads(read_bytes(job.history).splitlines()[-1])["step"])
    except (OSError, ValueError, IndexError):
        return 0
