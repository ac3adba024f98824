"""`hunmin run`: do what is not done, in order, each stage from folder to folder."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import atomic_write, publish_folder, remove_leftovers
from common.lock import locked
from common.manifest import Manifest, describe_outputs, package_versions, read_manifest, write_manifest
from common.progress import duration, say
from hunmin.recipe import Recipe, save_recipe
from hunmin.refusals import refuse_shared_executor
from hunmin.stages import STAGE_NAMES, STAGES, Stage, Work, stage_named
from hunmin.state import WORK_MARK, RunFolder, Verdict, begun_with, judge


def selected(first: str | None, last: str | None) -> tuple[Stage, ...]:
    """Return the stages up to and including `last`; those before `first` are checked, not done.

    Raises:
        UserError: a name is unknown, or `first` comes after `last`.
    """
    end = STAGE_NAMES.index(stage_named(last).name) if last else len(STAGES) - 1
    begin = STAGE_NAMES.index(stage_named(first).name) if first else 0
    if begin > end:
        raise UserError(f"--from {first} comes after --until {last}", f"the order is {' → '.join(STAGE_NAMES)}")
    return STAGES[: end + 1]


def judge_all(recipe: Recipe, first: str | None = None, last: str | None = None) -> list[Verdict]:
    """Return a verdict for each stage up to `last`, as if all that must be done were done in this run."""
    folder = RunFolder(Path(recipe.out))
    verdicts: list[Verdict] = []
    redone: set[str] = set()
    for stage in selected(first, last):
        verdict = judge(folder, recipe, stage, redone, force=stage.name == first)
        if not verdict.done:
            redone.add(stage.name)
        verdicts.append(verdict)
    return verdicts


def run(
    recipe: Recipe, first: str | None = None, last: str | None = None, works: Mapping[str, Work] | None = None
) -> list[Verdict]:
    """Do every stage that is not done, and return the verdicts it went by.

    Args:
        recipe: the run.
        first: do this stage in any case (and those after it that its new output touches).
        last: stop after this stage.
        works: stage → what does it instead of its own function.

    Raises:
        UserError: another command is at work in the run folder, or a stage before `first` is not done.
        Interrupted: a stage was asked to stop; its state is saved.
        ShareDone: this process is an element of an array, and another one finishes the stage.
    """
    works = works or {}
    stages = [replace(stage, work=works.get(stage.name, stage.work)) for stage in selected(first, last)]
    share = refuse_shared_executor(recipe, first, last)
    for stage in stages:
        stage.files(recipe)  # refuses names that are personal data before the recipe, which holds them, is written
    root = Path(recipe.out)
    with locked(root, share):
        folder = RunFolder(root)
        save_recipe(recipe, root / "recipe.yaml")
        verdicts = []
        for stage in stages:
            if share and read_manifest(folder.final(stage)) is None:
                # nothing to compare the inputs with: not every element has to hash them all
                _do(folder, recipe, stage, share)
                continue
            verdict = judge(folder, recipe, stage, set(), force=stage.name == first)
            verdicts.append(verdict)
            if verdict.done:
                say(f"{stage.name:<10} done", style="green")
                continue
            if first and STAGE_NAMES.index(stage.name) < STAGE_NAMES.index(first):
                raise UserError(
                    f"stage '{stage.name}' is not done ({verdict.why})",
                    f"--from {first} needs every stage before it",
                    f"run without --from, or with --from {stage.name}",
                )
            say(f"{stage.name:<10} begins ({verdict.why})", style="bold")
            _do(folder, recipe, stage, share)
        folder.save_cache()
    return verdicts


def require_done(recipe: Recipe, last: str, path: str) -> None:
    """Refuse a run in which a stage up to `last` is not done.

    Args:
        recipe: the run.
        last: name of the stage.
        path: the recipe's file.

    Raises:
        UserError: one is not.
    """
    for verdict in judge_all(recipe, last=last):
        if not verdict.done:
            raise UserError(
                f"stage '{verdict.stage.name}' is not done ({verdict.why})",
                f"the next one reads what the stages up to '{last}' have made",
                f"hunmin run {path} --until {last}",
            )


def _do(folder: RunFolder, recipe: Recipe, stage: Stage, share: bool) -> None:
    """Do a stage and publish its folder; with `share` several processes at once work in the unfinished folder."""
    began = time.monotonic()
    settings = stage.settings(recipe)
    partial, final = folder.partial(stage), folder.final(stage)
    inputs = None if share else _begin(folder, recipe, stage, settings)
    partial.mkdir(parents=True, exist_ok=True)
    counts = stage.work(recipe, folder.path, partial)
    remove_leftovers(partial)
    outputs = describe_outputs(partial)
    manifest = Manifest(
        stage=stage.name,
        settings=settings,
        inputs=inputs or folder.inputs(recipe, stage) or {},
        outputs=outputs,
        counts=counts,
        versions=package_versions("hunmin", *stage.packages),
        rules=stage.rules(),
    )
    write_manifest(partial, manifest)
    (partial / WORK_MARK).unlink(missing_ok=True)
    if stage.keep and final.exists():
        _set_aside(final, final)
    publish_folder(partial, final)
    seconds = time.monotonic() - began
    _note_time(folder.path, {"stage": stage.name, "seconds": round(seconds, 2)})
    say(f"{stage.name:<10} done in {duration(seconds)}", style="green")


def _begin(folder: RunFolder, recipe: Recipe, stage: Stage, settings: dict[str, Any]) -> dict[str, str]:
    """Make the unfinished folder ready for these settings and inputs, and return the inputs."""
    inputs = folder.inputs(recipe, stage)
    if inputs is None:
        raise UserError(
            f"stage '{stage.name}' lacks its input", "the stages before it must be done", "run without --from"
        )
    folder.save_cache()
    partial, final = folder.partial(stage), folder.final(stage)
    mark = begun_with(stage, settings, inputs)
    if partial.exists() and folder.work_mark(stage) != mark:
        if stage.reopen:
            stage.reopen(partial)
        elif stage.keep and folder.work_mark(stage) is not None:
            _set_aside(partial, final)
        else:
            shutil.rmtree(partial)
    partial.mkdir(parents=True, exist_ok=True)
    if folder.work_mark(stage) != mark:
        with atomic_write(partial / WORK_MARK) as stream:
            json.dump(mark, stream, ensure_ascii=False, indent=1)
    return inputs


def _set_aside(folder: Path, final: Path) -> None:
    """Move training that no longer fits the recipe out of the way: hours of work are never deleted unasked."""
    number = 1
    while (target := final.with_name(f"{final.name}.before-{number}")).exists():
        number += 1
    folder.rename(target)
    say(f"{folder.name}: other settings or inputs; moved to {target.name}, delete it when you like", style="yellow")


def _note_time(root: Path, row: dict[str, Any]) -> None:
    path = root / "logs" / "timing.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(row) + "\n")
