"""Scores a run's checkpoints while it trains: export, fine-tune, a line and a plot of score against tokens."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.errors import DiskFullError, HunminError, UserError
from common.files import write_text
from common.lock import locked
from common.manifest import read_manifest
from common.progress import say
from common.results import encoded
from common.stage_folders import MADE, folder_of, folders_of
from hunmin.pipeline.scores import log_scores
from hunmin.recipes.recipe import Recipe, load_recipe, recipe_of, save_recipe
from klue.plan import jobs_of
from klue.runner import run_klue
from klue.watched import checkpoint_folder, collect, identity, read_scores, scores_file, write_scores
from pretrain.callbacks.checkpoint_metadata import checkpoints_by_size, read_metadata
from pretrain.phase import learned

FOLDER = "watch"


def watch(run: Path, overrides: Sequence[str], once: bool, every: float) -> list[dict[str, Any]]:
    """Score every checkpoint of a run until its training has ended, and return the rows of scores.jsonl.

    RUN/watch holds scores.jsonl (a row a checkpoint, task and initialisation), scores.png, metrics.jsonl (wandb has its
    rows, too) and, a folder a checkpoint, the jobs' results. A checkpoint that is scored by the same settings is
    not scored again; one that training removes before its turn is passed over.

    Args:
        run: a run folder whose training has begun.
        overrides: changes to the recipe's `klue` section, "klue.seeds=1", for these scores alone.
        once: score what is there and return.
        every: seconds between two looks.

    Raises:
        UserError: the folder is no run, its training has not begun, settings or data do not fit, or another command
            watches it.
        HunminError: the fine-tuning of checkpoints failed; all others were scored first.
    """
    recipe = load_recipe(
        recipe_of(run), [f"out={json.dumps(str(run), ensure_ascii=False)}", *overrides], fetch=True, section="klue"
    )
    if recipe.klue is None:
        raise UserError(
            f"the recipe of {run} has no klue section", "checkpoints are scored on its data", "add klue.data=FOLDER"
        )
    if training_folder(run) is None and once:
        raise UserError(f"training of {run} has not begun", "there are no checkpoints yet", "run without --once")
    with locked(run / FOLDER):
        return _watch(recipe, run, once, every)


def _watch(recipe: Recipe, run: Path, once: bool, every: float) -> list[dict[str, Any]]:
    assert recipe.klue is not None  # `watch` refuses a recipe without
    out = run / FOLDER
    failed = dict[int, str]()
    done = 0
    while True:
        training = training_folder(run)
        ended = training == folder_of(run, "pretrain") and read_manifest(training) is not None
        there, missed = checkpoints(run), set[int]()
        # what other trainings in this folder, or other settings, have left does not count
        facts = identity(recipe.klue, (read_metadata(there[-1][1]) or {}).get("fingerprint") if there else None)
        write_scores(out, collect(out, facts))  # a kill may have come before it
        for step, path in there:
            if step in failed or read_scores(scores_file(out, step, facts)):
                continue
            try:
                if score_checkpoint(recipe, run, step, path):
                    done += 1
                    write_scores(out, collect(out, facts))
                else:
                    missed.add(step)
            except (UserError, DiskFullError):  # it would be the same with all others
                raise
            except HunminError as error:
                failed[step] = str(error)
                say(f"watch: step {step:,} failed: {error}", style="red")
        if missed:  # removed; or training has ended meanwhile and its folder has its final name
            for step in sorted(missed - {step for step, _ in checkpoints(run)}):
                say(
                    f"watch: checkpoint {step:,} is gone before its turn; keep more with pretrain.keep_last or "
                    "pretrain.keep_every"
                )
            continue
        if once or ended:
            say(f"watch: {len(there)} checkpoints, {done} newly scored")
            break
        time.sleep(every)
    if failed:
        named = "\n".join(f"  - step {step:,}: {reason.splitlines()[0]}" for step, reason in failed.items())
        raise HunminError(
            f"checkpoints without scores: {len(failed)}\n{named}",
            "every checkpoint gets its scores",
            "fix the cause and run the same command again: what is scored is kept",
        )
    return collect(out, facts)


def training_folder(run: Path) -> Path | None:
    """Return the folder of the run's training, finished or not; None before it has begun."""
    for folder in folders_of(run, "pretrain"):
        if (folder / "checkpoints").is_dir():
            return folder
    return None


def checkpoints(run: Path) -> list[tuple[int, Path]]:
    """Return (step, folder) of the run's whole checkpoints that are encoders, ascending: none of a causal phase."""
    training = training_folder(run)
    there = checkpoints_by_size(training / "checkpoints") if training else []
    described = ((step, path, read_metadata(path)) for step, path in there)
    known = ((step, path, saved.get("settings", {})) for step, path, saved in described if saved)
    return [(step, path) for step, path, settings in known if learned(settings, step)[-1].scored]


def score_checkpoint(recipe: Recipe, run: Path, step: int, checkpoint: Path) -> bool:
    """Export and fine-tune one checkpoint; return False if it is not there any more.

    Raises:
        HunminError: fine-tuning failed.
    """
    from pretrain.export import export_checkpoint

    assert recipe.klue is not None  # `watch` refuses a recipe without
    folder = checkpoint_folder(run / FOLDER, step)
    model = folder / "model"
    saved = read_metadata(checkpoint) or {}
    shutil.rmtree(model, ignore_errors=True)  # a killed command's, perhaps of an earlier training
    try:
        export_checkpoint(checkpoint, model)
    except (OSError, HunminError, IndexError):
        if checkpoint.is_dir() and read_metadata(checkpoint):
            raise
        return False
    save_recipe(recipe, model / "hunmin-recipe.yaml", drop="runtime")  # with the model's name
    say(f"watch: scoring step {step:,}")
    # a test set would be looked at for each checkpoint
    counts = run_klue(recipe.klue, model, folder / "klue", jobs_of(run / MADE), test=False)
    log_scores(recipe, run / FOLDER, step, saved.get("tokens"), counts["scores"])
    shutil.rmtree(model)  # it can be exported again
    row = {"step": step, "tokens": saved.get("tokens"), "scores": counts["scores"]}
    # the last of all: with it the checkpoint is done
    path = scores_file(run / FOLDER, step, identity(recipe.klue, saved.get("fingerprint")))
    write_text(path, encoded(row).decode())
    return True
