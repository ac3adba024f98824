"""Result rows of jobs: their order, mean and standard deviation over seeds, the best of the settings tried."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from klue.plan import INITS
from klue.search import GRID
from klue.tasks import TASKS


def sort_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return result rows by task (in the order of the register), initialisation (pretrained first), values, seed."""
    order = list(TASKS)
    return sorted(rows, key=lambda row: (order.index(row["task"]), INITS.index(row["init"]), _values(row), row["seed"]))


def _values(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return a row's settings, in the order of what a search varies."""
    return (*(row["settings"][name] for name in GRID), json.dumps(row["settings"], sort_keys=True))


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
    """Return all metrics of a task, key → name: the paper's, those as published, then those beside them."""
    which = TASKS[task]
    published = {key: f"{which.metrics[name]}, as published" for name, key in which.as_published.items()}
    return {**which.metrics, **published, **which.extra_metrics}


def not_the_benchmarks(rows: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Return task → dev examples, of the tasks that were not scored on the whole dev set of KLUE.

    Args:
        rows: result rows of jobs.
    """
    scored = {row["task"]: row["examples"]["dev"] for row in sort_rows(rows)}
    return {task: count for task, count in scored.items() if count != TASKS[task].dev_examples}


def apart(rows: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return task → why, of the tasks whose scores are not to be compared with published ones.

    They were not scored on the whole dev set of KLUE, or not trained on the whole train set.

    Args:
        rows: result rows of jobs, or entries of a summary.
    """
    found: dict[str, str] = {}
    for row in rows:
        counts, task, note = row["examples"], TASKS[row["task"]], row["data_note"]
        if "split of dev" in note:
            found[task.name] = "dev is split"
        elif counts["dev"] != task.dev_examples:
            found[task.name] = f"{counts['dev']:,} of {task.dev_examples:,} dev examples"
        elif counts.get("train_cut") or "train from " in note or "trained on " in note:
            found[task.name] = "train is cut"
    return found


def summarize(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry per task and initialisation.

    Each holds model, task, init, n (seeds), data_note, examples, and under `best` and `last` for each metric the mean
    and standard deviation over seeds. `best` is the best evaluation on dev of each seed, as in the KLUE paper; `last`
    the one at the end of training. Where several settings were tried, all this is of those with the highest mean of
    the selection metric's `best`; `settings` are these, `tried` says of how many.
    """
    groups: dict[tuple[str, str], dict[tuple[Any, ...], list[dict[str, Any]]]] = {}
    for row in sort_rows(rows):
        groups.setdefault((row["task"], row["init"]), {}).setdefault(_values(row), []).append(row)
    summary = []
    for (task, init), choices in groups.items():
        entries = [_entry(task, init, group) for group in choices.values()]
        # the first of equals
        chosen = max(entries, key=lambda entry: _mean(entry["best"][TASKS[entry["task"]].selection]))
        summary.append({**chosen, "tried": len(entries)})
    return summary


def _entry(task: str, init: str, group: list[dict[str, Any]]) -> dict[str, Any]:
    later = set(TASKS[task].as_published.values())  # rows of earlier versions have none
    return {
        "model": group[0].get("model", ""),
        "task": task,
        "init": init,
        "n": len(group),
        "data_note": group[0]["data_note"],
        "examples": group[0]["examples"],
        "settings": group[0]["settings"],
        **{
            which: {
                metric: spread([row[which].get(metric) if metric in later else row[which][metric] for row in group])
                for metric in metrics_of(task)
            }
            for which in ("best", "last")
        },
    }


def _mean(found: dict[str, Any]) -> float:
    return -math.inf if found["mean"] is None else float(found["mean"])
