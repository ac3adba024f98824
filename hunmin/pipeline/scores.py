"""A run's scores: their rows, and a row of them beside the run's metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.results import check_numbers, manifest_of, refuse_unfit
from common.settings import dump_settings
from common.stage_folders import folder_of
from hunmin.recipes.recipe import Recipe
from klue.result_rows import bounds_of, read_rows
from klue.results import flat_scores
from pretrain.callbacks.metrics import MetricsLog, read_metrics

NOT_SCORED = "skipped: the recipe has no klue section"
"""Line on the stage `klue` of a recipe without that section."""


def score_rows(run: Path, name: str) -> list[dict[str, Any]]:
    """Return the result rows of a run's finished stage `klue`; none where it was skipped.

    Args:
        run: run folder.
        name: of the recipe, which may have changed since.

    Raises:
        UserError: the results are missing or damaged.
    """
    manifest = manifest_of(folder_of(run, "klue"))
    return [] if manifest and manifest.counts.get("skipped") else renamed(read_rows(folder_of(run, "klue")), name)


def renamed(rows: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return result rows in which the run's own model has its recipe's present name."""
    return [{**row, "model": name} for row in rows]


def log_scores(recipe: Recipe, folder: Path, step: int, tokens: int | None, summary: Sequence[dict[str, Any]]) -> None:
    """Append a row of scores to `folder`/metrics.jsonl, and to the trackers of the recipe's section `pretrain`.

    Args:
        step: optimizer steps of the scored weights; an earlier row of this step is replaced.
        tokens: real tokens they were trained on.
        summary: entries as `klue.results.summarize` returns them.
    """
    p = recipe.pretrain
    config = {"name": recipe.name, "klue": dump_settings(recipe)["klue"]}
    rows = read_metrics(path := folder / "metrics.jsonl")
    with_steps = [{"step": row.get("step", "")} | row for row in rows]
    refuse_unfit(path, lambda: check_numbers(with_steps, bounds_of), "remove it", own=False)
    later = [row for row in rows if row["step"] > step]
    log = MetricsLog(folder, step - 1, p, config)
    for row in ({"step": step, "tokens": tokens, **flat_scores(summary)}, *later):
        log.log(row)
    log.close()
