"""`hunmin run --dry-run`: what would be done and why, before anything runs."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from common.files import human_size
from common.manifest import read_manifest
from common.process import available_cores
from common.progress import console, duration, short_number
from common.stage_folders import folder_of, work_folder_of
from data.corpus import corpus_files
from data.readers.paths import list_files
from data.units.fields import check_fields
from hunmin.estimates.cost import cost_plan, text_bytes
from hunmin.estimates.seconds import stage_seconds
from hunmin.pipeline.run import early_checks, judge_all, selected
from hunmin.pipeline.scores import NOT_SCORED
from hunmin.recipes.preflight import (
    refuse_missing,
    refuse_shared_executor,
    refuse_tasks_without_files,
    refuse_training,
    repeated_text,
    unfilled_vocabulary,
    unfit_inputs,
)
from hunmin.recipes.recipe import Recipe, warnings
from pretrain.callbacks.metrics import read_figures
from pretrain.cost.epochs import epochs_of


def dry_run_plan(recipe: Recipe, first: str | None, last: str | None, restart: str | None = None) -> dict[str, Any]:
    """Return {"stages": what would run and why, size of what is there, expected seconds; "tokens", "seconds",
    "warnings"}.

    Raises:
        UserError: the run would be refused before it does anything.
    """
    refuse_shared_executor(recipe, first or restart, last)
    stages = selected(recipe, first, last)
    trains = any(
        stage.name == "pretrain" and not folder_of(Path(recipe.out), stage.folder).exists() for stage in stages
    )
    scores = any(stage.name == "klue" for stage in stages)
    further = [*([refuse_training] if trains else []), *([refuse_tasks_without_files] if scores else [])]
    refuse_missing(recipe, [*early_checks(recipe, stages), *further], ask=True)
    verdicts = judge_all(recipe, first, last, restart)
    runs = {verdict.stage.name for verdict in verdicts if not verdict.done}
    warned = warnings(recipe)
    if "corpus" in runs:
        check_fields(corpus_files(recipe.corpus))
        warned += unfit_inputs(recipe.corpus)
    if "pretrain" in runs:
        refuse_training(recipe)
    files = [Path(file.path) for file in list_files(recipe.corpus.inputs)]
    text, counted = text_bytes(recipe), None
    if "tokenizer" in runs:
        warned += unfilled_vocabulary(recipe, text or 0.0)
    if "pretrain" in runs:
        warned += repeated_text(recipe.pretrain, text or 0.0)
    if runs & {"pretrain", "klue"}:
        cost = cost_plan(recipe)
        expected = cost["stage_seconds"]
        counted = cost["epochs"] if cost["epoch_tokens"] else None
    else:
        expected = stage_seconds(recipe, text, available_cores())
    rows = []
    for verdict in verdicts:
        folder = folder_of(Path(recipe.out), verdict.stage.folder)
        files_there = [path for path in folder.rglob("*") if path.is_file()] if read_manifest(folder) else []
        size = sum(path.stat().st_size for path in files_there) or None
        seconds = 0.0 if verdict.done else expected[verdict.stage.name]
        if verdict.stage.name == "pretrain" and verdict.resumes:
            seconds = _seconds_left(recipe) or seconds
        rows.append(
            {
                "stage": verdict.stage.name,
                "runs": not verdict.done,
                "why": NOT_SCORED if verdict.stage.name == "klue" and recipe.klue is None else verdict.why,
                "bytes": size,
                "seconds": None if seconds is None else round(seconds, 1),
            }
        )
    known: list[Any] = [row["seconds"] for row in rows if row["seconds"] is not None]
    return {
        "out": recipe.out,
        "input_bytes": sum(path.stat().st_size for path in files if path.is_file()),
        "tokens": recipe.pretrain.tokens,
        "epochs": counted or (epochs_of(recipe.pretrain.tokens, text) if text else None),
        "stages": rows,
        "warnings": warned,
        "seconds": round(sum(known), 1),
    }


def _seconds_left(recipe: Recipe) -> float | None:
    """Return the seconds that unfinished training needs at its last rate; None where it has logged none."""
    p = recipe.pretrain
    path = work_folder_of(Path(recipe.out), "pretrain") / "logs" / "metrics.jsonl"
    rows = [row for row in read_figures(path) if row.get("tokens_per_second")]
    if not rows:
        return None
    left = p.tokens - p.positions_before(rows[-1]["step"])
    return float(left / max(1.0, statistics.median(row["tokens_per_second"] for row in rows)))


def print_plan(plan: dict[str, Any]) -> None:
    """Print a dry run as a table on stdout."""
    table = Table(
        title=f"{plan['out']}: {human_size(plan['input_bytes'])} of input files, "
        f"{short_number(plan['tokens'])} training tokens"
        + (f", about {plan['epochs']:,.1f} epochs" if plan["epochs"] else "")
    )
    for name in ("stage", "", "why"):
        table.add_column(name)
    table.add_column("on disk", justify="right")
    table.add_column("expected", justify="right")
    for row in plan["stages"]:
        expected = "?" if row["seconds"] is None else duration(row["seconds"])
        table.add_row(
            row["stage"],
            "runs" if row["runs"] else "done",
            Text(row["why"]),
            "" if row["bytes"] is None else human_size(row["bytes"]),
            expected if row["runs"] else "",
        )
    out = console(stderr=False)
    out.print(table)
    unknown = [row["stage"] for row in plan["stages"] if row["seconds"] is None]
    out.print(
        f"total: about {duration(plan['seconds'])}"
        + (f", without {', '.join(unknown)} (unknown)" if unknown else "")
        + ". Estimated as by hunmin plan, from a matrix product timed here and text rates of one machine, with the "
        "start of each stage; left out: compilation in the first run (half a minute on two cores, minutes where they "
        "are busy; more on a GPU), validation, checkpoints, downloads."
    )
    for warning in plan["warnings"]:
        out.print(Text(f"warning: {warning}", style="yellow"))
