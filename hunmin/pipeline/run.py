"""`hunmin run`: do what is not done, in order, each stage from folder to folder."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from common.current import begin_work, make_current
from common.errors import UserError
from common.files import append_line
from common.lock import locked
from common.manifest import read_manifest
from common.progress import duration, say
from common.secrets import masked_words
from common.stage_folders import folders_of
from hunmin.pipeline.redo import given_up, refuse_foreign, refuse_redoing, work_seconds
from hunmin.pipeline.stage import TIMING, Counts, Stage, StageFunction
from hunmin.pipeline.stages import stage_named, stages_of
from hunmin.pipeline.state import RunFolder, Verdict, judge
from hunmin.recipes.preflight import (
    refuse_missing,
    refuse_shared_executor,
    refuse_tasks_without_files,
    refuse_training,
)
from hunmin.recipes.recipe import Recipe, RunSettings, save_recipe
from hunmin.version import commit
from pretrain.callbacks.trackers import require_trackers
from pretrain.parallel.world import world_info


def selected(recipe: RunSettings, first: str | None, last: str | None) -> tuple[Stage, ...]:
    """Return the recipe's stages up to and including `last`; those before `first` are checked, not done.

    Raises:
        UserError: a name is unknown, or `first` comes after `last`.
    """
    stages = stages_of(recipe)
    end = stages.index(stage_named(last, recipe)) if last else len(stages) - 1
    begin = stages.index(stage_named(first, recipe)) if first else 0
    if begin > end:
        names = " → ".join(stage.name for stage in stages)
        raise UserError(f"--from {first} comes after --until {last}", f"the order is {names}")
    return stages[: end + 1]


def judge_all(
    recipe: RunSettings,
    first: str | None = None,
    last: str | None = None,
    restart: str | None = None,
    *,
    folder: RunFolder | None = None,
) -> list[Verdict]:
    """Return a verdict for each stage up to `last` (`--until`), given that this run does every unfinished stage before
    it; `first` (`--from`) and `restart` (`--restart`) count as unfinished.

    Raises:
        UserError: a stage before `first` is not done, or the options contradict each other.
    """
    stages = selected(recipe, first, last)
    if first and restart:
        raise UserError(
            "--from with --restart",
            "both name the stage to do again; --restart also gives up its unfinished work",
            "give one of them",
        )
    if restart and stage_named(restart, recipe) not in stages:
        raise UserError(f"--restart {restart} comes after --until {last}", "a stage that is to be done again is done")
    folder = folder or RunFolder(Path(recipe.out))
    verdicts: list[Verdict] = []
    redone: dict[str, Verdict] = {}
    for stage in stages:
        verdict = judge(folder, recipe, stage, redone, _asks(stage, first, restart))
        if stage.name == first:
            _refuse_undone(verdicts, f"--from {first} needs every stage before it", "run without --from")
        if not verdict.done:
            redone[stage.name] = verdict
        verdicts.append(verdict)
    return verdicts


def _refuse_undone(verdicts: Sequence[Verdict], rule: str, fix: str) -> None:
    for verdict in verdicts:
        if not verdict.done:
            raise UserError(f"stage '{verdict.stage.name}' is not done ({verdict.why})", rule, fix)


def _asks(stage: Stage, first: str | None, restart: str | None) -> str:
    return "--restart" if stage.name == restart else "--from" if stage.name == first else ""


def early_checks(recipe: RunSettings, stages: Sequence[Stage]) -> list[Callable[[Any], object]]:
    """Return the checks of a recipe before anything is done: of files, of settings, and of the first stage's own rules
    unless its work has begun."""
    first, run = stages[0], Path(recipe.out)
    checks: list[Callable[[Any], object]] = [check for stage in stages for check in (stage.inputs, stage.settings)]
    if not any(folder.exists() for folder in folders_of(run, first.folder)):
        checks.append(lambda recipe: first.check(recipe, run))
    return checks


def refuse_redoing_unasked(
    recipe: RunSettings,
    first: str | None = None,
    last: str | None = None,
    restart: str | None = None,
    folder: RunFolder | None = None,
) -> tuple[list[Verdict], set[str]]:
    """Return the verdicts of the stages that a run would do, and the names of those that may be done again.

    Raises:
        UserError: the run would do others again, or replace what is not its own (see `refuse_redoing`), or its first
            stage would refuse to begin; or as `judge_all`.
    """
    run = Path(recipe.out)
    refuse_foreign(run, selected(recipe, first, last))
    verdicts = judge_all(recipe, first, last, restart, folder=folder)
    again = given_up(verdicts, restart or first, stages_of(recipe))
    refuse_redoing(run, verdicts, again)
    undone = [verdict for verdict in verdicts if not verdict.done]
    if undone and (undone[0].stage.name == restart or not undone[0].resumes):
        undone[0].stage.check(recipe, run)
    return undone, again


def refuse_early(
    recipe: RunSettings,
    first: str | None = None,
    last: str | None = None,
    restart: str | None = None,
    folder: RunFolder | None = None,
) -> set[str] | None:
    """Return the names of stages that may be done again; None in an element of an array, which shares its stage.

    Raises:
        UserError: a run with these arguments of `run` is refused before it writes anything.
    """
    is_array_element = refuse_shared_executor(recipe, first or restart, last)
    # names that are personal data are refused before the recipe, which holds them, is written
    refuse_missing(recipe, early_checks(recipe, selected(recipe, first, last)))
    if is_array_element:
        return None
    undone, again = refuse_redoing_unasked(recipe, first, last, restart, folder)
    for verdict in undone:
        if verdict.stage.name in ("pretrain", "tune", "embed"):
            require_trackers(getattr(recipe, verdict.stage.name))
        if isinstance(recipe, Recipe) and verdict.stage.name == "pretrain" and not verdict.resumes:
            refuse_training(recipe, here=world_info(os.environ).world == 1)  # a launcher sets the number of processes
    return again


def run(
    recipe: RunSettings,
    first: str | None = None,
    last: str | None = None,
    works: Mapping[str, StageFunction] | None = None,
    restart: str | None = None,
) -> list[Verdict]:
    """Do every unfinished stage, and return the verdicts of all.

    Args:
        recipe: the run.
        first: do this stage in any case (and those after it that its new output touches).
        last: stop after this stage.
        works: stage → function that replaces its own `work`.
        restart: do this stage from its beginning, and those after it, in folders of their own.

    Raises:
        UserError: another command is at work in the run folder, a stage before `first` is not done, or the run would
            replace what is not its own, or do again unasked what took more than a minute.
        HunminError: what a stage reads is damaged.
        Interrupted: a stage received a stop signal; its state is saved.
        ShareDone: this process is an element of an array, and a later command finishes the stage.
    """
    works = works or {}
    stages = [replace(stage, work=works.get(stage.name, stage.work)) for stage in selected(recipe, first, last)]
    root = Path(recipe.out)
    folder = RunFolder(root)
    again = refuse_early(recipe, first, last, restart, folder)
    is_array_element = again is None
    scores = any(stage.name == "klue" and read_manifest(folder.final(stage)) is None for stage in stages)
    if isinstance(recipe, Recipe) and scores and "klue" not in works:
        refuse_tasks_without_files(recipe)  # before it trains
    verdicts: list[Verdict] = []
    with locked(root, is_array_element):
        save_recipe(recipe, root / "recipe.yaml")
        for stage in stages:
            # an element of an array makes pieces alone: where nothing is finished, it need not hash all inputs
            if not is_array_element or read_manifest(folder.final(stage)):
                verdict = judge(folder, recipe, stage, {}, _asks(stage, first, restart))
                verdicts.append(verdict)
                if verdict.done and verdict.folder:
                    make_current(root, stage.folder, verdict.folder)
                    say(f"{stage.name:<10} {verdict.why}", style="green" if verdict.why == "done" else "yellow")
                    continue
            if again is None:
                stage.work(recipe, root, folder.partial(stage))
                continue
            refuse_redoing(root, [verdict], again)
            say(f"{stage.name:<10} begins ({verdict.why})", style="bold")
            _do(folder, recipe, stage, verdict, anew=stage.name == restart)
        folder.save_cache()
    return verdicts


def require_done(recipe: RunSettings, last: str, words: Sequence[str]) -> None:
    """Refuse a run in which a stage up to `last` is not done.

    Args:
        words: the recipe's file and the overrides, as on the command line.

    Raises:
        UserError: one is not.
    """
    reads = f"the next one reads what the stages up to '{last}' have made"
    _refuse_undone(judge_all(recipe, last=last), reads, f"hunmin run {shlex.join(masked_words(words))} --until {last}")


def _do(folder: RunFolder, recipe: RunSettings, stage: Stage, verdict: Verdict, anew: bool) -> None:
    """Do a stage in a folder of its own, and make that folder the current one.

    Args:
        verdict: the reason to do it.
        anew: give up an unfinished attempt, even one of the same settings and inputs.
    """
    for name in stage.after:
        folder.check_outputs(stage_named(name, recipe), stage.unread)
    facts = folder.facts(recipe, stage)
    folder.save_cache()
    if facts is None:
        raise UserError(
            f"stage '{stage.name}' lacks its input", "the stages before it must be done", "run without --from"
        )
    unfinished = None if anew else verdict.folder
    if not unfinished:
        stage.check(recipe, folder.path)
    row: dict[str, Any] = {"stage": stage.name}

    def make(out: Path) -> Counts:
        begin_work(folder.path, stage.folder, out)
        began = time.monotonic()
        counts = stage.work(recipe, folder.path, out)
        row["seconds"] = round(time.monotonic() - began, 2)
        if (whole := work_seconds(folder.path, out)) is not None:
            row["since_begin"] = round(whole, 2)
        return counts

    out = folder.work(stage).make(facts, make, unfinished, folder.lineage(recipe, stage))
    _note_time(folder.path, {**row, "folder": out.name})
    make_current(folder.path, stage.folder, out)
    say(f"{stage.name:<10} done in {duration(row['seconds'])}", style="green")


def _note_time(root: Path, row: dict[str, Any]) -> None:
    row |= {"time": datetime.now(timezone.utc).isoformat(timespec="seconds"), "commit": commit()}
    path = root / TIMING
    path.parent.mkdir(parents=True, exist_ok=True)
    append_line(path, json.dumps(row))
