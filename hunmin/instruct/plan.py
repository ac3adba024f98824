"""What is printed of a decoder's run before it begins, and of its instructions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from common.manifest import read_manifest
from common.progress import console
from common.stage_folders import folder_of
from hunmin.instruct.recipe import InstructRecipe
from hunmin.run import judge_all

SHOWN = ("use", "dataset", "licence", "state", "read", "rejected", "contaminated", "distinct", "held_out", "rows")
"""Columns of the table of a build."""


def dry_run_instruct(recipe: InstructRecipe, *asked: str | None) -> dict[str, Any]:
    """Return {"out", "stages": what would run and why, "tuning": what training takes, None before `instruct` is done};
    `asked` are `--from`, `--until`, `--restart`.
    """
    from pretrain.cost.tuning import plan_tuning

    rows = [{"stage": one.stage.name, "runs": not one.done, "why": one.why} for one in judge_all(recipe, *asked)]
    built = folder_of(Path(recipe.out), "instruct")
    known = not rows[0]["runs"] and read_manifest(built) is not None
    return {"out": recipe.out, "stages": rows, "tuning": plan_tuning(recipe.tune, built) if known else None}


def print_instruct_plan(plan: dict[str, Any]) -> None:
    """Print a dry run as tables on stdout."""
    print_rows([{**row, "runs": "runs" if row["runs"] else "done"} for row in plan["stages"]])
    print_facts(plan["tuning"] or {"tuning": "known when the stage instruct is done"})


def print_facts(facts: dict[str, Any]) -> None:
    """Print names and values on stdout, those of inner mappings below their name."""
    rows = []
    for name, value in facts.items():
        inner = value.items() if isinstance(value, dict) else [("", value)]
        rows += [{"": f"{name} {key}".replace("_", " ").strip(), " ": one} for key, one in inner]
    print_rows(rows)


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Print rows of the same names as a table on stdout."""
    table = Table(*(name.replace("_", " ") for name in rows[0]))
    for row in rows:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
    console(stderr=False).print(table)
