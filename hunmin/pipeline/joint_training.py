"""The training stage on all the processes that a launcher has started, here or on many machines, in one run folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from common.progress import say
from common.settings import changed_keys, dump_settings, parse_settings
from hunmin.hub.follow import following
from hunmin.instruct.stages import tuning_job
from hunmin.pipeline.run import require_done, run
from hunmin.pipeline.stage import Counts
from hunmin.pipeline.stages import training_job
from hunmin.recipes.recipe import Recipe, RunSettings
from pretrain.train import train_job
from pretrain.training_stage import Interrupted, take_counts
from pretrain.tuning.settings import TuneSettings
from pretrain.tuning.train import tune

if TYPE_CHECKING:
    from pretrain.parallel.processes import Process

JOB_SOURCE = "the job of the first process"


class Training(NamedTuple):
    """A stage that processes train together: its name, the last stage before it, what writes its job, what trains."""

    stage: str
    before: str
    job: Callable[[Any, Path, Path], dict[str, Any]]
    train: Callable[[dict[str, Any], str, Process], Counts | None]


def _pretrain(job: dict[str, Any], source: str, process: Process) -> Counts | None:
    return train_job(job, source, process)


def _tune(job: dict[str, Any], source: str, process: Process) -> Counts | None:
    settings = parse_settings(TuneSettings, job["settings"], source)
    return tune(settings, Path(job["instructions"]), Path(job["out"]), says=process.first)


PRETRAINING = Training("pretrain", "encode", training_job, _pretrain)
TUNING = Training("tune", "instruct", tuning_job, _tune)


def train_together(
    recipe: RunSettings, words: Sequence[str], restart: bool = False, training: Training = PRETRAINING
) -> None:
    """Run the training stage as one of several processes; all of them call it, and the first one leads.

    The first process judges the stages, writes the job (settings and paths of the training) and publishes the stage's
    folder. The others receive the job, or none where the stage is done. It warns where their settings differ.

    Args:
        words: the recipe's file and the overrides, as on the command line.
        restart: train from step 0, in a new folder.

    Raises:
        HunminError: a stage before it is not done, or as in `hunmin.pipeline.run.run` and `pretrain.train.train`.
        Interrupted: a stop was asked for, and the state is saved.
    """
    # threads that spin while they wait stand still for seconds when another program wants the same cores
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from pretrain.parallel import processes

    section = getattr(recipe, training.stage)
    process = processes.join_processes(processes.place_process(), section.threads)
    stopped = False
    with following(recipe, Path(recipe.out)) if process.first and isinstance(recipe, Recipe) else nullcontext():
        with process.monitor:
            given_to = process.gather("its settings", [process.host, dump_settings(recipe, drop="secret")])
            if process.first:
                for line in other_settings(given_to, type(recipe)):
                    say(line, style="yellow")
                require_done(recipe, training.before, words)
                stopped = _lead(recipe, process, restart, training)
            elif job := process.on_first(JOB_SOURCE, dict[str, Any]):
                stopped = training.train(job, JOB_SOURCE, process) is None
        processes.leave_processes()  # what is left to push does not keep the others' devices
        if stopped:
            raise Interrupted


def other_settings(started: Sequence[tuple[str, dict[str, Any]]], kind: type[RunSettings]) -> list[str]:
    """Return a warning for each group of processes whose settings differ from the first one's.

    Args:
        started: host and settings of each process, by rank.
        kind: class of the recipe.
    """
    from pretrain.parallel.versions import few

    kinds: dict[tuple[str, ...], list[int]] = {}
    for rank, (_, settings) in enumerate(started):
        kinds.setdefault(tuple(changed_keys(started[0][1], settings, model=kind, places=True)), []).append(rank)
    return [
        f"warning: settings of {few('rank', ranks)} on {few('', dict.fromkeys(started[rank][0] for rank in ranks))} "
        f"differ from those of rank 0, and do not count: {few('', changes)}"
        for changes, ranks in kinds.items()
        if changes
    ]


def _lead(recipe: RunSettings, process: Process, restart: bool, training: Training) -> bool:
    job_sent = False

    def work(recipe: RunSettings, folder: Path, out: Path) -> Counts:
        nonlocal job_sent
        job_sent = True
        job = process.on_first(JOB_SOURCE, lambda: training.job(recipe, folder, out))
        if training.train(job, JOB_SOURCE, process) is None:
            raise Interrupted
        return take_counts(out)

    try:
        run(recipe, last=training.stage, works={training.stage: work}, restart=training.stage if restart else None)
    except Interrupted:
        return True
    if not job_sent:
        process.on_first(JOB_SOURCE, dict[str, Any])
    return False
