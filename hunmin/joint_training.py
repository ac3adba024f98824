"""The training stage on all the processes that a launcher has started, here or on many machines, in one run folder."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hunmin.hub.follow import following
from hunmin.recipe import Recipe
from hunmin.run import require_done, run
from hunmin.stages import Counts, Interrupted, take_counts, training_job

if TYPE_CHECKING:
    from pretrain.processes import Process

TOLD = "the job of the first process"


def train_together(recipe: Recipe, path: str, restart: bool = False) -> None:
    """Do the training stage as one of several processes; all of a run call it, and the first one leads.

    It alone looks at the stages, writes the job and publishes the stage's folder. The others train what it tells them,
    and nothing where the stage is done already.

    Args:
        recipe: the run.
        path: the recipe's file, for messages.
        restart: begin anew; what is there is moved aside.

    Raises:
        HunminError: a stage before it is not done, or as in `hunmin.run.run` and `pretrain.train.train`.
        Interrupted: a stop was asked for, and the state is saved.
    """
    # threads that spin while they wait stand still for seconds when another program wants the same cores
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from pretrain import processes
    from pretrain.train import train_job

    process = processes.join_processes(processes.place_process(), recipe.pretrain.threads)
    stopped = False
    with following(recipe, Path(recipe.out)) if process.first else nullcontext():
        with process.lifeline:
            if process.first:
                require_done(recipe, "encode", path)
                stopped = _lead(recipe, process, restart)
            elif job := process.on_first(TOLD, _nothing):
                stopped = train_job(job, TOLD, process) is None
        processes.leave_processes()  # what is left to push does not keep the others' devices
        if stopped:
            raise Interrupted


def _lead(recipe: Recipe, process: Process, restart: bool) -> bool:
    """Do the stage as the first process, and return whether a stop was asked for."""
    from pretrain.train import train_job

    told = False

    def work(recipe: Recipe, folder: Path, out: Path) -> Counts:
        nonlocal told
        told = True
        job = process.on_first(TOLD, lambda: training_job(recipe, folder, out))
        if train_job(job, TOLD, process) is None:
            raise Interrupted
        return take_counts(out)

    try:
        run(recipe, last="pretrain", works={"pretrain": work}, restart="pretrain" if restart else None)
    except Interrupted:
        return True
    if not told:
        process.on_first(TOLD, _nothing)
    return False


def _nothing() -> dict[str, Any]:
    return {}
