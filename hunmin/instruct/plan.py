"""The plan of a decoder's run, and of its instructions, as printed before it begins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from common.files import human_size
from common.manifest import read_manifest
from common.names import find_here
from common.progress import console, duration
from common.stage_folders import folder_of
from hunmin.instruct.recipe import InstructRecipe
from hunmin.pipeline.run import early_checks, judge_all, selected
from hunmin.recipes.preflight import refuse_missing

if TYPE_CHECKING:
    from pretrain.tuning.settings import TuneSettings

SHOWN = ("use", "dataset", "licence", "state", "read", "rejected", "contaminated", "distinct", "held_out", "rows")
"""Columns of the table of a build."""


def dry_run_instruct(recipe: InstructRecipe, *asked: str | None) -> dict[str, Any]:
    """Return {"out", "stages": what would run and why, "tuning": what training takes}; `asked` are `--from`, `--until`,
    `--restart`. Without a build, "tuning" has parameters and memory alone; None where the base is not here.

    Raises:
        UserError: the run would be refused before it does anything.
    """
    first, last, restart = asked
    refuse_missing(recipe, early_checks(recipe, selected(recipe, first or restart, last)))
    rows = [{"stage": each.stage.name, "runs": not each.done, "why": each.why} for each in judge_all(recipe, *asked)]
    built = folder_of(Path(recipe.out), "instruct")
    known = not rows[0]["runs"] and read_manifest(built) is not None
    here = known or find_here(recipe.tune.base, "model") is not None
    return {
        "out": recipe.out,
        "stages": rows,
        "tuning": planned(recipe.tune, built if known else None) if here else None,
    }


def planned(settings: TuneSettings, instructions: Path | None) -> dict[str, Any]:
    """Return the plan of `pretrain.cost.tuning.plan_tuning`, with the seconds of a build on this machine."""
    from pretrain.cost.tuning import plan_tuning, tuning_seconds

    plan = plan_tuning(settings, instructions)
    return plan if instructions is None else {**plan, "seconds": round(tuning_seconds(settings, plan), 1)}


def print_instruct_plan(plan: dict[str, Any]) -> None:
    """Print a dry run as tables on stdout."""
    print_rows([{**row, "runs": "runs" if row["runs"] else "done"} for row in plan["stages"]])
    print_tuning(plan["tuning"] or {"parameters and memory": "known when the base is fetched"})


def print_tuning(tuning: dict[str, Any]) -> None:
    """Print what training takes as a table on stdout."""
    shown = dict(tuning)
    if "bytes" in shown:
        named = {name: human_size(size) for name, size in shown.pop("bytes").items()}
        shown["memory per device:"] = named
    if "seconds" in shown:
        shown["time on this machine"] = f"about {duration(shown.pop('seconds'))}, without held-out losses, checkpoints"
    if "bytes" in tuning and "steps" not in tuning:
        shown["examples, tokens, steps, time"] = "known when the stage instruct is done"
    print_facts(shown)


def print_facts(facts: dict[str, Any]) -> None:
    """Print names and values on stdout, those of inner mappings below their name."""
    rows = []
    for name, value in facts.items():
        inner = value.items() if isinstance(value, dict) else [("", value)]
        rows += [{"": f"{name} {key}".replace("_", " ").strip(), " ": inner_value} for key, inner_value in inner]
    print_rows(rows)


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Print rows of the same names as a table on stdout."""
    table = Table(*(name.replace("_", " ") for name in rows[0]))
    for row in rows:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
    console(stderr=False).print(table)
