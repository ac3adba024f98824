"""What a finished folder of instructions holds: the table of its uses, and examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from common.errors import UserError, nearest
from data.instruct.build import HELD_OUT, TABLE, TRAIN
from data.instruct.rows import as_record, read_rows


def describe(folder: Path, task: str | None = None, n: int = 3) -> dict[str, Any]:
    """Return the counts of a build ("uses" is the table) and under "examples" and "held_out_examples" rows a task.

    Args:
        folder: what `hunmin instruct build` wrote.
        task: the only task whose rows are shown; None shows all.
        n: rows a task.

    Raises:
        UserError: the folder holds no build, or no row of the task.
    """
    try:
        counts: dict[str, Any] = orjson.loads((folder / TABLE).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        raise UserError(
            f"{folder} holds no table of instructions", f"a build leaves {TRAIN}, {HELD_OUT} and {TABLE}",
            "build it: hunmin instruct build RECIPE",
        ) from None  # fmt: skip
    shown: dict[str, list[dict[str, Any]]] = {"examples": [], "held_out_examples": []}
    tasks: set[str] = set()
    for key, name in zip(shown, (TRAIN, HELD_OUT), strict=True):
        seen: dict[str, int] = {}
        for row in read_rows(folder / name):
            tasks.add(row.task)
            seen[row.task] = seen.get(row.task, 0) + 1
            if task in (None, row.task) and seen[row.task] <= n:
                shown[key].append(as_record(row))
    if task is not None and task not in tasks:
        raise UserError(
            f"no row of {folder} is of the task '{task}'{nearest(task, sorted(tasks))}",
            f"its tasks are {', '.join(sorted(tasks))}",
        )
    return {**counts, **shown}
