"""`hunmin run`: do what is not done, in order, each stage from folder to folder."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.facts import Facts
from common.files import append_line, atomic_write, publish_folder, remove_folder, remove_leftovers, sha256_file
from common.lock import locked
from common.manifest import (
    MANIFEST,
    WORK_MARK,
    Manifest,
    describe_outputs,
    package_versions,
    read_manifest,
    write_manifest,
)
from common.progress import duration, say
from common.rules import rules_number
from common.secrets import masked_words
from common.stage_folders import folders_of
from hunmin.preflight import (
    refuse_missing,
    refuse_shared_executor,
    refuse_tasks_without_files,
    refuse_training,
)
from hunmin.recipe import Recipe, RunSettings, save_recipe
from hunmin.replacing import (
    clear_way,
    given_up,
    refuse_foreign,
    refuse_loss,
    remove_replaced,
    set_aside,
    work_seconds,
)
from hunmin.stages import TIMING, Stage, Work, stage_named, stages_of
from hunmin.state import BEGUN, RunFolder, Verdict, begun_with, differences, judge, listed
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
    """Return a verdict for each stage up to `last` (`--until`), as if all that must be done were done in this run:
    `first` (`--from`) and `restart` (`--restart`) in any case.

    Raises:
        UserError: a stage before `first` is not done, or the options contradict each other.
    """
    stages = selected(recipe, first, last)
    if first and restart:
        raise UserError(
            "--from with --restart", "both name the stage to do again; --restart also gives up its unfinished work",
            "give one of them",
        )  # fmt: skip
    if restart and stage_named(restart, recipe) not in stages:
        raise UserError(f"--restart {restart} comes after --until {last}", "a stage that is to be done again is done")
    folder = folder or RunFolder(Path(recipe.out))
    verdicts: list[Verdict] = []
    redone: dict[str, Verdict] = {}
    for stage in stages:
        verdict = judge(folder, recipe, stage, redone, _asks(stage, first, restart))
        if stage.name == first:
            _refuse_gap(verdicts, first)
        if not verdict.done:
            redone[stage.name] = verdict
        verdicts.append(verdict)
    return verdicts


def _refuse_gap(before: Sequence[Verdict], first: str) -> None:
    """Raise a UserError where a stage before `--from` is not done."""
    for verdict in before:
        if not verdict.done:
            raise UserError(
                f"stage '{verdict.stage.name}' is not done ({verdict.why})",
                f"--from {first} needs every stage before it",
                f"run without --from, or with --from {verdict.stage.name}",
            )


def _asks(stage: Stage, first: str | None, restart: str | None) -> str:
    """Return the option that asks for a stage even if it is done, or ""."""
    return "--restart" if stage.name == restart else "--from" if stage.name == first else ""


def refuse_replacing(
    recipe: RunSettings,
    first: str | None = None,
    last: str | None = None,
    restart: str | None = None,
    folder: RunFolder | None = None,
) -> set[str]:
    """Return the stages whose work may be replaced, unless the run would replace other work or what is not its own.

    Raises:
        UserError: it would; see `hunmin.replacing`; or as `judge_all`.
    """
    folder = folder or RunFolder(Path(recipe.out))
    refuse_foreign(folder, selected(recipe, first, last))
    verdicts = judge_all(recipe, first, last, restart, folder=folder)
    given = given_up(verdicts, restart or first, stages_of(recipe))
    refuse_loss(folder, verdicts, given)
    return given


def early_checks(recipe: RunSettings, stages: Sequence[Stage]) -> list[Callable[[Any], object]]:
    """Return what refuses a recipe before anything is done, each thing for itself: files, settings, and, where its work
    is not begun, what the first stage would refuse.
    """
    first, run = stages[0], Path(recipe.out)
    checks: list[Callable[[Any], object]] = [check for one in stages for check in (one.inputs, one.settings)]
    if not any(folder.exists() for folder in folders_of(run, first.folder)):
        checks.append(lambda recipe: first.check(recipe, run))
    return checks


def _refuse_early(
    recipe: RunSettings, first: str | None, last: str | None, restart: str | None, folder: RunFolder
) -> tuple[bool, set[str]]:
    """Return whether several processes share the stage, and the stages whose work may be replaced; raise a UserError
    where a run is refused before it writes anything."""
    share = refuse_shared_executor(recipe, first or restart, last)
    # names that are personal data are refused before the recipe, which holds them, is written
    refuse_missing(recipe, early_checks(recipe, selected(recipe, first, last)))
    if share:
        return True, set()
    given = refuse_replacing(recipe, first, last, restart, folder)
    undone = refuse_beginning(recipe, first, last, restart, folder)
    for one in undone:
        if one.stage.name in ("pretrain", "tune", "embed"):
            require_trackers(getattr(recipe, one.stage.name))
    if isinstance(recipe, Recipe) and any(one.stage.name == "pretrain" and not one.resumes for one in undone):
        refuse_training(recipe, here=world_info(os.environ).world == 1)  # a launcher sets the number of processes
    return False, given


def refuse_unscored(recipe: Recipe, stages: Sequence[Stage], folder: RunFolder) -> None:
    """Refuse a run that is to score tasks whose files are not there, before it trains; see `preflight`."""
    if any(stage.name == "klue" and read_manifest(folder.final(stage)) is None for stage in stages):
        refuse_tasks_without_files(recipe)


def refuse_as_run(
    recipe: RunSettings, first: str | None = None, last: str | None = None, restart: str | None = None
) -> None:
    """Refuse for a dry run what `run` refuses before its first stage does anything.

    Raises:
        UserError: as `run`, with the same arguments.
    """
    _refuse_early(recipe, first, last, restart, RunFolder(Path(recipe.out)))


def refuse_beginning(
    recipe: RunSettings,
    first: str | None = None,
    last: str | None = None,
    restart: str | None = None,
    folder: RunFolder | None = None,
) -> list[Verdict]:
    """Return the verdicts of the stages that a run would do; refuse what the first one would refuse (`Stage.check`).

    Raises:
        UserError: it would; or as `judge_all`.
    """
    undone = [one for one in judge_all(recipe, first, last, restart, folder=folder) if not one.done]
    if undone and (undone[0].stage.name == restart or not undone[0].resumes):
        undone[0].stage.check(recipe, Path(recipe.out))
    return undone


def run(
    recipe: RunSettings,
    first: str | None = None,
    last: str | None = None,
    works: Mapping[str, Work] | None = None,
    restart: str | None = None,
) -> list[Verdict]:
    """Do every stage that is not done, and return the verdicts it went by.

    Args:
        recipe: the run.
        first: do this stage in any case (and those after it that its new output touches).
        last: stop after this stage.
        works: stage → what does it instead of its own function.
        restart: do this stage from its beginning, and those after it; what is there of them may be replaced.

    Raises:
        UserError: another command is at work in the run folder, a stage before `first` is not done, or the run would
            replace what is not its own, or more than a minute of work that nobody gave up.
        HunminError: what a stage reads is damaged.
        Interrupted: a stage received a stop signal; its state is saved.
        ShareDone: this process is an element of an array, and a later command finishes the stage.
    """
    works = works or {}
    stages = [replace(stage, work=works.get(stage.name, stage.work)) for stage in selected(recipe, first, last)]
    root = Path(recipe.out)
    folder = RunFolder(root)
    share, given = _refuse_early(recipe, first, last, restart, folder)
    if isinstance(recipe, Recipe) and "klue" not in works:
        refuse_unscored(recipe, stages, folder)
    with locked(root, share):
        if share:
            refuse_foreign(folder, stages)
        save_recipe(recipe, root / "recipe.yaml")
        verdicts: list[Verdict] = []
        for stage in stages:
            final = folder.final(stage)
            if share and read_manifest(final) is None:
                # nothing to compare the inputs with: not every element has to hash them all
                _begin_share(folder, recipe, stage)
                _do(folder, recipe, stage, None)
                continue
            verdict = judge(folder, recipe, stage, {}, _asks(stage, first, restart))
            verdicts.append(verdict)
            if verdict.done:
                (final / WORK_MARK).unlink(missing_ok=True)  # of a command that was killed as it ended
                say(f"{stage.name:<10} {verdict.why}", style="green" if verdict.why == "done" else "yellow")
                continue
            refuse_loss(folder, [verdict], given, share)
            if share:
                _begin_share(folder, recipe, stage)
            say(f"{stage.name:<10} begins ({verdict.why})", style="bold")
            _do(folder, recipe, stage, None if share else verdict, anew=stage.name == restart)
        folder.save_cache()
        remove_replaced(folder, stages)
    return verdicts


def require_done(recipe: RunSettings, last: str, given: Sequence[str]) -> None:
    """Refuse a run in which a stage up to `last` is not done.

    Args:
        given: the recipe's file and the overrides, as on the command line.

    Raises:
        UserError: one is not.
    """
    for verdict in judge_all(recipe, last=last):
        if not verdict.done:
            raise UserError(
                f"stage '{verdict.stage.name}' is not done ({verdict.why})",
                f"the next one reads what the stages up to '{last}' have made",
                f"hunmin run {shlex.join(masked_words(given))} --until {last}",
            )


def _do(folder: RunFolder, recipe: RunSettings, stage: Stage, verdict: Verdict | None, anew: bool = False) -> None:
    """Do a stage and publish its folder.

    Args:
        verdict: why it is done; None where several processes at once work in the unfinished folder.
        anew: give up an unfinished attempt, even one of the same settings and inputs.
    """
    began = time.monotonic()
    settings = stage.settings(recipe)
    partial, final = folder.partial(stage), folder.final(stage)
    if verdict:
        for name in stage.after:
            folder.check_outputs(stage_named(name, recipe), stage.unread)
    inputs = _begin(folder, recipe, stage, settings, anew, verdict.grows) if verdict else None
    if inputs is None or not folder.is_finished(stage, begun_with(stage, settings, inputs)):
        partial.mkdir(parents=True, exist_ok=True)
        counts = stage.work(recipe, folder.path, partial)
        remove_leftovers(partial)
        manifest = Manifest(
            stage=stage.name,
            settings=settings,
            inputs=inputs or folder.inputs(recipe, stage) or {},
            outputs=describe_outputs(partial),
            counts=counts,
            versions=package_versions("hunmin", *stage.packages),
            rules=rules_number(stage.name),
        )
        write_manifest(partial, manifest)
    seconds = time.monotonic() - began
    row: dict[str, Any] = {"stage": stage.name, "seconds": round(seconds, 2)}
    row["manifest"] = sha256_file(partial / MANIFEST)  # `verify` holds the manifest against it
    if (whole := work_seconds(folder, stage, partial)) is not None:
        row["since_begin"] = round(whole, 2)
    # the mark stays until the folder has its name: without it, a killed command's work would be nobody's
    replace = clear_way(stage, final, verdict.changes if verdict else ())
    _note_time(folder.path, row)  # before the name: after a kill in between, `verify` knows the manifest
    publish_folder(partial, final, replace=replace)
    (final / WORK_MARK).unlink(missing_ok=True)
    say(f"{stage.name:<10} done in {duration(seconds)}", style="green")


def _begin(
    folder: RunFolder, recipe: RunSettings, stage: Stage, settings: dict[str, Any], anew: bool, grows: bool
) -> dict[str, str]:
    """Make the unfinished folder ready for these settings and inputs, and return the inputs."""
    inputs = folder.inputs(recipe, stage)
    if inputs is None:
        raise UserError(
            f"stage '{stage.name}' lacks its input", "the stages before it must be done", "run without --from"
        )
    folder.save_cache()
    partial, final = folder.partial(stage), folder.final(stage)
    mark, found = begun_with(stage, settings, inputs), folder.work_mark(stage)
    goes_on = found is not None and found.inputs is not None and not anew and not differences(stage, found, mark)
    begins = anew or not (goes_on or folder.is_finished(stage, mark))
    if begins:
        stage.check(recipe, folder.path)
    if begins and partial.exists():
        remove_leftovers(partial)
        if stage.reopen:
            stage.reopen(partial)
        elif any(partial.iterdir()):
            if stage.keep or found is None:
                why = "without its mark" if found is None else "begun anew" if anew else "of other settings or inputs"
                set_aside(stage, partial, final, f"{stage.name}: unfinished work {why}")
            else:
                remove_folder(partial)
    if begins and grows:
        folder.check_outputs(stage)
        stage.take_over(final, partial)
    partial.mkdir(parents=True, exist_ok=True)
    if not goes_on:  # else it stays, with the time of the beginning
        _write_mark(partial, mark)
    return inputs


def _begin_share(folder: RunFolder, recipe: RunSettings, stage: Stage) -> None:
    """Mark the unfinished folder with the settings of the processes that work in it, and refuse to replace others'."""
    settings, found = stage.settings(recipe), folder.work_mark(stage)
    mark = begun_with(stage, settings, None)
    changes = differences(stage, found, mark) if found else {}
    if changes:
        verdict = Verdict(stage, False, "", roots=listed(stage, changes, finished=False))
        refuse_loss(folder, [verdict], set(), share=True)
    if changes or not found:
        folder.partial(stage).mkdir(parents=True, exist_ok=True)
        _write_mark(folder.partial(stage), mark)


def _write_mark(partial: Path, mark: Facts) -> None:
    with atomic_write(partial / WORK_MARK) as stream:
        json.dump({**asdict(mark), BEGUN: time.time()}, stream, ensure_ascii=False, indent=1)


def _note_time(root: Path, row: dict[str, Any]) -> None:
    row |= {"time": datetime.now(timezone.utc).isoformat(timespec="seconds"), "commit": commit()}
    path = root / TIMING
    path.parent.mkdir(parents=True, exist_ok=True)
    append_line(path, json.dumps(row))
