"""Result rows of jobs: the order they stand in, and mean and standard deviation over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from klue.plan import INITS
from klue.tasks import TASKS


def sort_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return result rows by task (in the order of the register), initialisation (pretrained first) and seed."""
    order = list(TASKS)
    return sorted(rows, key=lambda row: (order.index(row["task"]), INITS.index(row["init"]), row["seed"]))


def spread(values: Sequence[float | None]) -> dict[str, float | int | None]:
    """Return {"mean", "sd", "n"}: `sd` is the sample standard deviation (n - 1), None for one value.

    Where a value is undefined (None), so are mean and sd.
    """
    n = len(values)
    known = [value for value in values if value is not None]
    if len(known) < n or not known:
        return {"mean": None, "sd": None, "n": n}
    mean = math.fsum(known) / n
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / (n - 1)) if n > 1 else None
    return {"mean": mean, "sd": sd, "n": n}


def metrics_of(task: str) -> dict[str, str]:
    """Return all metrics of a task, key → name: the paper's, then those beside them."""
    return {**TASKS[task].metrics, **TASKS[task].extra_metrics}


def summarize(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry per task and initialisation.

    Each holds task, init, n (seeds), data_note, examples, and under `best` and `last` for each metric the mean and
    standard deviation over seeds. `best` is the best evaluation on dev of each seed, as in the KLUE paper; `last` the
    one at the end of training.
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in sort_rows(rows):
        groups.setdefault((row["task"], row["init"]), []).append(row)
    return [
        {
            "task": task,
            "init": init,
            "n": len(group),
            "data_note": group[0]["data_note"],
            "examples": group[0]["examples"],
            **{
                which: {metric: spread([row[which][metric] for row in group]) for metric in metrics_of(task)}
                for which in ("best", "last")
            },
        }
        for (task, init), group in groups.items()
    ]
