"""The klue stage: all jobs of a model, several at once, restartable, one result row a job."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common.errors import HunminError, UserError
from common.files import remove_leftovers, write_text
from common.lock import LOCK, is_locked, locked
from common.manifest import WORK_MARK
from common.message import Message
from common.names import RECORD
from common.progress import ProgressBar, duration, say
from common.slurm_array import ArrayElement, ShareDone
from data.executors import LocalPool
from klue.collapse import in_words
from klue.devices import find_devices, kind_of_device, memory_needed
from klue.examples import Splits, load_splits
from klue.features import check_reading, cut_note, load_tokenizer, make_features, save_features
from klue.finished import PLANNED, finished_row, gather
from klue.gold import write_gold
from klue.job import run_job
from klue.model_folder import ModelFacts, check_weights, is_finetuned, read_model_folder
from klue.plan import Job, jobs_of, plan_jobs, steps_of
from klue.results import summarize
from klue.settings import KlueSettings, resolve_training
from klue.tasks import get_task

LOG = "output.log"
"""Beside a job's history, what its process prints."""
LOG_TAIL = 12
"""Lines of a failed job's log that are shown."""
FEATURES = ".features-"
"""What names of folders with features begin with."""
ENVIRONMENT = {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
"""Of the processes of jobs."""
POLL = 0.5
"""Seconds between two looks at how far the jobs are."""


def run_klue(
    settings: KlueSettings, model: Path, out: Path, jobs: Path | None = None, share: ArrayElement | None = None,
    test: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """Fine-tune and score a model on the tasks of the settings; write results.jsonl and summary.json.

    Each job leaves result.json and predictions.jsonl in a folder of its own, and its output in `logs` there. Jobs that
    are finished already, with the same settings, model and data, are not redone.

    Args:
        settings: tasks, seeds and values.
        model: folder of an encoder.
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
    _refuse_foreign(out)
    plan = plan_stage(settings, model, jobs or jobs_of(out))
    say(str(plan))
    with locked(out, share=share is not None):
        failures = _do(plan, settings, out, share)
        if share:
            _leave_to_others(plan, share, failures, out)
        write_gold(plan.splits, out)
        rows = gather(plan.jobs, plan.model, out, test)
    if failures:  # what is there can be looked at
        raise failed(failures, len(plan.jobs))
    return {
        "jobs": len(rows),
        "examples": {name: split.counts for name, split in plan.splits.items()},
        "scores": summarize(rows),
    }


def _refuse_foreign(out: Path) -> None:
    """Raise a UserError for a folder that holds other files than those of such jobs."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file", "jobs write a folder", "name a new folder")
    names = {path.name for path in out.iterdir()} - {RECORD} if out.is_dir() else set()
    if names and not names & {LOCK, WORK_MARK}:
        raise UserError(
            f"{out} holds other files ({sorted(names)[0]} …)", "jobs write a folder of their own", "name a new folder"
        )


@dataclass(frozen=True)
class Plan:
    """What a stage has to do."""

    model: ModelFacts
    splits: dict[str, Splits]
    jobs: list[Job]
    waiting: list[Job]
    """Jobs that are not finished."""

    def __str__(self) -> str:
        """Return how many jobs there are, in all and by task, and how many are finished."""
        tasks = Counter(job.task for job in self.jobs)
        named = ", ".join(f"{name} {tasks[name]:,}" for name in self.splits)
        text = f"klue: {len(self.jobs):,} jobs ({named})"
        done = len(self.jobs) - len(self.waiting)
        return text + (f"; {done} of {len(self.jobs)} jobs are finished already" if done else "")


def plan_stage(settings: KlueSettings, model: Path, root: Path) -> Plan:
    """Return what `run_klue` would do with jobs' folders in `root`; nothing is written. Raises UserError where model,
    data or settings do not fit."""
    facts = read_model_folder(model)
    check_weights(model)
    if settings.keep_head:
        from klue.saved import check_kept  # it brings torch along

        check_kept(model, [get_task(name) for name in settings.tasks])
    elif is_finetuned(model):
        say(f"{model} was fine-tuned already: its head is dropped, each task begins with a new one")
    tokenizer, splits = load_tokenizer(model), {}
    for name in settings.tasks:
        task = get_task(name)
        cut = resolve_training(settings, task, facts.hidden_size).max_train_examples
        found = splits[name] = load_splits(task, settings.folder_of(name), cut, settings.source_of(name))
        check_reading(task, [*found.train, *found.dev, *found.test], tokenizer, model)
    jobs = plan_jobs(settings, facts, splits, kind_of_device(settings), root)
    return Plan(facts, splits, jobs, [job for job in jobs if finished_row(job) is None])


def _do(plan: Plan, settings: KlueSettings, out: Path, share: ArrayElement | None) -> dict[str, str]:
    """Run the jobs that wait, of an element those of its share, and return what went wrong with which."""
    waiting = plan.waiting
    if share:
        # of all jobs, so that it does not depend on which are finished as an element begins
        mine = {job.name for job in plan.jobs[share.rank :: share.count]}
        waiting = [job for job in waiting if job.name in mine]
        say(f"klue: element {share.rank} of {share.count} has {len(mine):,} jobs, {len(waiting):,} to do")
    else:
        remove_leftovers(out)
        write_text(out / PLANNED, "".join(json.dumps({"job": job.folder.name}) + "\n" for job in plan.jobs))
    if not waiting:
        return {}
    with TemporaryDirectory(prefix=FEATURES, suffix=".tmp", dir=out) as features, locked(Path(features)):
        waiting = write_features(waiting, plan.splits, plan.model, Path(features))
        begun = time.monotonic()
        failures = run_jobs(waiting, settings, plan.model)
    say(f"klue: {len(waiting) - len(failures):,} of {len(waiting):,} jobs done in {duration(time.monotonic() - begun)}")
    return failures


def _leave_to_others(plan: Plan, share: ArrayElement, failures: dict[str, str], out: Path) -> None:
    """Raise where this element of an array is not the last one to end, or its jobs failed; the last one clears up."""
    if failures:
        raise failed(failures, len(plan.jobs))
    if left := sum(finished_row(job) is None for job in plan.jobs):
        raise ShareDone(
            f"element {share.rank} is done; {left:,} of {len(plan.jobs):,} jobs, of other elements, are not\n  the "
            "last one writes the results; should none be left, the same command with --executor local does the rest"
        )
    for path in out.glob(f"{FEATURES}*"):  # of elements that were killed
        if not is_locked(path):  # another array is at work on its own
            shutil.rmtree(path, ignore_errors=True)


def write_features(jobs: list[Job], splits: dict[str, Splits], model: ModelFacts, folder: Path) -> list[Job]:
    """Write the features of the jobs' tasks and return the jobs with their features and counts of inputs."""
    made: dict[str, dict[str, Any]] = {}
    for name, job in {job.task: job for job in jobs}.items():
        task, split, length = get_task(name), splits[name], job.training.max_seq_len
        tokenizer = load_tokenizer(model.folder)  # anew: a task may add tokens to it
        parts = {"train": split.train, "dev": split.dev} | ({"test": split.test} if split.test else {})
        features = {which: make_features(task, part, tokenizer, model, length) for which, part in parts.items()}
        save_features(features, folder / name)
        made[name] = {"features": str((folder / name).resolve()), "inputs": len(features["train"].owner)}
        if note := cut_note(features, length):
            say(f"klue: {task.title}: {note}", style="yellow")
            made[name]["data_note"] = Message("{notes:; }", notes=[*filter(None, (split.note, note))])
    return [job.model_copy(update=made[job.task]) for job in jobs]


def run_jobs(jobs: list[Job], settings: KlueSettings, model: ModelFacts) -> dict[str, str]:
    """Run jobs, as many at once as the devices hold, and return {job name: what went wrong} of those that failed.

    With `workers` 0 they run one after another in this process, and what goes wrong by a fault of the code is raised.
    """
    if settings.workers == 0:
        return _run_here(jobs, settings)
    devices, queue = find_devices(settings), list(jobs)
    needs = dict.fromkeys((job.name for job in jobs), 0.0)
    if devices.limited:  # on a CPU nothing is asked of the configuration, which not every encoder has alike
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(jobs[0].model, local_files_only=True, trust_remote_code=False)
        needs = {job.name: memory_needed(job, config) for job in jobs}
    running: dict[str, Job] = {}
    failures: dict[str, str] = {}
    total = sum(map(steps_of, jobs))
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(settings.threads))
    pool = LocalPool(modules=modules_of(model.family), environment={**ENVIRONMENT, **threads})
    with pool, ProgressBar("klue", total, "steps") as bar:
        settled = 0
        while queue or running:
            for job in list(queue):
                device = devices.take(needs[job.name])
                if device is None:  # a smaller job may still have room
                    continue
                queue.remove(job)
                running[job.name] = job.model_copy(update={"device": device})
                log = job.history.with_name(LOG)
                shutil.rmtree(log.parent, ignore_errors=True)
                log.parent.mkdir(parents=True, exist_ok=True)
                pool.start(job.name, run_job, running[job.name], log=log)
            for name, code in pool.ended(POLL):
                job = running.pop(name)
                devices.give(job.device, needs[name])
                settled += steps_of(job)
                row = finished_row(job)
                if row is None:  # whatever became of a process after it had written its result, the job is done
                    failures[name] = _failure(code, job.history.with_name(LOG))
                    say(f"klue: {name} failed: {failures[name]}", style="red")
                else:
                    _say_score(job, row)
            bar.advance(settled + sum(map(_steps_done, running.values())) - bar.done)
    return failures


def modules_of(family: str) -> list[str]:
    """Return the modules that jobs need, which take seconds to import."""
    name = family.replace("-", "_")  # where the library has no such module the server passes over it
    return [f"{__package__}.finetune", f"transformers.models.{name}.modeling_{name}"]


def _run_here(jobs: list[Job], settings: KlueSettings) -> dict[str, str]:
    """Run jobs one after another in this process; see `run_jobs`."""
    import torch

    device, failures = find_devices(settings.model_copy(update={"workers": 1})).take(0.0), {}
    threads = torch.get_num_threads()
    try:
        for job in jobs:
            try:
                row = run_job(job.model_copy(update={"device": device}))
            except HunminError as error:
                failures[job.name] = str(error)
                say(f"klue: {job.name} failed: {error}", style="red")
            else:
                _say_score(job, row)
    finally:
        torch.set_num_threads(threads)
    return failures


def _say_score(job: Job, row: dict[str, Any]) -> None:
    value = row["best"][row["metric"]]
    collapsed = f" (predicts one label for {in_words(row.get('one_answer_share', 1.0))})" if "one_answer" in row else ""
    say(f"klue: {job.name}: {row['metric']} {'undefined' if value is None else f'{value:.2f}'}{collapsed}")


def failed(failures: dict[str, str], jobs: int) -> HunminError:
    """Return the error that names the failed jobs, each with what went wrong."""
    named = "\n".join(f"  - {name}: {reason}" for name, reason in sorted(failures.items()))
    return HunminError(
        f"{len(failures)} of {jobs} fine-tuning jobs failed\n{named}",
        "every job ends with scores",
        "fix the cause and run the same command again: finished jobs are kept",
    )


def _failure(code: int, log: Path) -> str:
    how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    if not log.is_file():
        return f"{how} before it began; what it said stands above"
    text = log.read_text(encoding="utf-8", errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    end = "\n".join(f"      | {line}" for line in lines[-LOG_TAIL:])
    return f"{how}; the end of {log}:\n{end}"


def _steps_done(job: Job) -> int:
    try:
        return int(json.loads(job.history.read_bytes().splitlines()[-1])["step"])
    except (OSError, ValueError, IndexError):
        return 0
