"""The contents of a finished folder of instructions: the table of its uses, and examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from common.errors import UserError, nearest
from common.results import AMOUNT, check_numbers, check_unchanged, read_result
from data.instruct.build import COUNTED, HELD_OUT, TABLE, TRAIN
from data.instruct.rows import read_rows

FIX = "build it again: hunmin instruct build RECIPE"


def describe(folder: Path, task: str | None = None, n: int = 3) -> dict[str, Any]:
    """Return the counts of a build ("uses" is the table), and `n` rows a task as "examples" and "held_out_examples".

    Raises:
        UserError: the folder holds no build, or no row of the task.
        DamagedError: the build was edited.
    """
    if not (folder / TABLE).is_file():
        raise UserError(f"{folder} holds no {TABLE}", "a build leaves one", "build it: hunmin instruct build RECIPE")
    counts: dict[str, Any] = read_result(folder / TABLE, _check, FIX)
    for name in (TRAIN, HELD_OUT):
        check_unchanged(folder / name, FIX)
    rows = {"examples": read_rows(folder / TRAIN), "held_out_examples": read_rows(folder / HELD_OUT)}
    tasks = sorted({row.task for split_rows in rows.values() for row in split_rows})
    if task is not None and task not in tasks:
        raise UserError(f"{folder} has no task '{task}'{nearest(task, tasks)}", f"its tasks are {', '.join(tasks)}")
    for key, rows_of_key in rows.items():
        chosen = [[row for row in rows_of_key if row.task == name][:n] for name in tasks if task in (None, name)]
        counts[key] = [row.as_record() for some in chosen for row in some]
    return counts


def _check(counts: dict[str, Any]) -> None:
    check_numbers(counts, lambda key: AMOUNT if key in COUNTED else None)
