"""Scores a run's checkpoints while it trains: export, fine-tune, a line and a plot of score against tokens."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.errors import HunminError, UserError
from common.files import atomic_write
from common.manifest import read_manifest
from common.progress import say
from common.settings import dump_settings, settings_hash
from hunmin.recipe import Recipe, load_recipe
from hunmin.scores import log_scores

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
        UserError: the folder is no run, or its training has not begun.
        HunminError: fine-tuning failed.
    """
    recipe_file = run / "recipe.yaml"
    if not recipe_file.is_file():
        raise UserError(
            f"{run} is no run folder", "a run folder holds recipe.yaml", "give the folder `out` of a recipe"
        )
    recipe = load_recipe(recipe_file, [f"out={run}", *overrides])
    if training_folder(run) is None and once:
        raise UserError(f"training of {run} has not begun", "there are no checkpoints yet", "run without --once")
    failed: set[int] = set()
    done = 0
    while True:
        ended = read_manifest(run / "pretrain") is not None
        there = checkpoints(run)
        found = [(step, path) for step, path in there if not scored(recipe, run, step) and step not in failed]
        for step, path in found:
            if score_checkpoint(recipe, run, step, path):
                done += 1
            else:
                failed.add(step)
        rows = collect(run)
        if found:
            write_scores(run, rows)
        if once or ended:
            say(f"watch: {len(there)} checkpoints, {done} newly scored")
            return rows
        time.sleep(every)


def training_folder(run: Path) -> Path | None:
    """Return where the run's training stands: finished, under way, or None before it has begun."""
    for name in ("pretrain", "pretrain.partial"):
        if (run / name / "checkpoints").is_dir():
            return run / name
    return None


def checkpoints(run: Path) -> list[tuple[int, Path]]:
    """Return (step, folder) of the run's whole checkpoints, ascending."""
    from pretrain.checkpoint import complete_checkpoints

    training = training_folder(run)
    return complete_checkpoints(training / "checkpoints") if training else []


def scored(recipe: Recipe, run: Path, step: int) -> bool:
    """Return whether a checkpoint has its scores by the recipe's `klue` section."""
    path = _folder(run, step) / "scores.json"
    return path.is_file() and bool(json.loads(path.read_bytes()).get("settings") == _settings_of(recipe))


def score_checkpoint(recipe: Recipe, run: Path, step: int, checkpoint: Path) -> bool:
    """Export and fine-tune one checkpoint; return False if training removed it meanwhile.

    Raises:
        HunminError: fine-tuning failed.
    """
    from klue.runner import run_klue
    from pretrain.checkpoint import read_mark
    from pretrain.export import export_checkpoint

    folder = _folder(run, step)
    model = folder / "model"
    mark = read_mark(checkpoint)
    if not (model / "config.json").is_file():
        unfinished = folder / "model.partial"
        shutil.rmtree(unfinished, ignore_errors=True)
        try:
            export_checkpoint(checkpoint, recipe.pretrain, run / "tokens", run / "tokenizer", unfinished)
        except (OSError, HunminError, IndexError):
            if checkpoint.is_dir() and read_mark(checkpoint):
                raise
            say(f"watch: checkpoint {step:,} is gone before its turn; keep more with pretrain.keep_last or keep_every")
            shutil.rmtree(folder, ignore_errors=True)
            return False
        unfinished.rename(model)
    say(f"watch: scoring step {step:,}")
    counts = run_klue(recipe.klue, model, folder / "klue")
    row = {
        "step": step,
        "tokens": (mark or {}).get("tokens"),
        "settings": _settings_of(recipe),
        "scores": counts["scores"],
    }
    with atomic_write(folder / "scores.json") as stream:
        json.dump(row, stream, ensure_ascii=False, indent=1)
    log_scores(recipe, run / FOLDER, step, counts["scores"])
    shutil.rmtree(model)  # it can be exported again
    return True


def collect(run: Path) -> list[dict[str, Any]]:
    """Return one row a scored checkpoint, task and initialisation: {"step", "tokens", "task", "init", "best", …}."""
    rows = []
    for path in sorted((run / FOLDER).glob("step-*/scores.json")):
        found = json.loads(path.read_bytes())
        rows += [{"step": found["step"], "tokens": found["tokens"], **entry} for entry in found["scores"]]
    return rows


def write_scores(run: Path, rows: list[dict[str, Any]]) -> None:
    """Write scores.jsonl and scores.png into RUN/watch."""
    from klue.plot import draw_curve

    with atomic_write(run / FOLDER / "scores.jsonl") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    draw_curve(rows, run / FOLDER / "scores.png")
    say(f"watch: {run / FOLDER / 'scores.png'}")


def _settings_of(recipe: Recipe) -> str:
    return settings_hash(dump_settings(recipe.klue))


def _folder(run: Path, step: int) -> Path:
    return run / FOLDER / f"step-{step:08d}"
