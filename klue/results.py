"""Result rows of jobs: their order, mean and standard deviation over seeds, the best of the settings tried."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from common.differing import differing
from common.message import Message
from klue.plan import INITS
from klue.synthetic import NOTE
from klue.tasks import OWN, SUITE_OF, TASKS
from klue.training import GRID

TITLES = {"pretrained": "pretrained", "random": "random initialisation"}
"""What initialisations are called."""


def sort_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return result rows by task (in the order of the register), initialisation (pretrained first), values, seed."""
    order = list(TASKS)
    return sorted(rows, key=lambda row: (order.index(row["task"]), INITS.index(row["init"]), _values(row), row["seed"]))


def _values(row: dict[str, Any]) -> tuple[Any, ...]:
    return (*(row["settings"][name] for name in GRID), json.dumps(row["settings"], sort_keys=True))


def spread(values: Sequence[float | None]) -> dict[str, float | int | None]:
    """Return {"mean", "sd" (n - 1; None for one value), "n"}; where a value is undefined (None), so are mean and sd."""
    n = len(values)
    known = [value for value in values if value is not None]
    if len(known) < n or not known:
        return {"mean": None, "sd": None, "n": n}
    mean = math.fsum(known) / n
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / (n - 1)) if n > 1 else None
    return {"mean": mean, "sd": sd, "n": n}


def metrics_of(task: str) -> dict[str, str]:
    """Return all metrics of a task, key → name: the paper's, those as published, then those beside them."""
    kind = TASKS[task]
    published = {
        key: Message("{metric}, as published", metric=kind.metrics[name]) for name, key in kind.as_published.items()
    }
    return {**kind.metrics, **published, **kind.extra_metrics}


def not_the_benchmarks(rows: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Return task → examples scored, of tasks that were not scored on the whole public test set, or else dev set."""
    scored = {row["task"]: row["examples"].get(TASKS[row["task"]].scored_split, 0) for row in sort_rows(rows)}
    return {task: n for task, n in scored.items() if SUITE_OF[task] != OWN and n != scored_examples(task)}


def shown_scores(entry: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the scores of a summary's entry that tables show: on the test set where there are any, else on dev."""
    return dict(entry["test"] if "test" in entry else entry["best"])


def scored_examples(task: str) -> int:
    """Return how many examples the benchmark has in the split that a task's table is of."""
    return TASKS[task].sizes.test or TASKS[task].sizes.dev


def not_comparable(rows: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return task → why its scores are not compared with published ones: parts of dev, test or train are missing."""
    reasons: dict[str, str] = {}
    for row in rows:
        counts = row["examples"]
        task = TASKS[row["task"]]
        note = row["data_note"]
        if NOTE in note:
            reasons[task.name] = "synthetic"
        elif "split of dev" in note:
            reasons[task.name] = "dev is split"
        elif "zero-shot transfer" in note:
            reasons[task.name] = Message("trained on {other}", other=TASKS[task.transfer].title)
        elif missing := task.shortfalls(counts):
            reasons[task.name] = Message("{missing}", missing=missing)
        elif counts.get("train_cut") or "train from " in note or "trained on " in note:
            reasons[task.name] = "train is cut"
    return reasons


def summarize(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry per model, task and initialisation.

    Each holds model, task, init, n (seeds), data_note, examples, and under `best` and `last` for each metric the mean
    and standard deviation over seeds. `best` is the best evaluation on dev of each seed, as in the KLUE paper; `last`
    the one at the end of training; `test`, where rows have it, of the best evaluation on the test set. Where several
    settings were tried, all this is of those with the highest mean of the metric that evaluations were chosen by;
    `settings` are these, `tried` says of how many.
    """
    summary = []
    for group, tried in chosen(rows):
        first = group[0]
        shares = [row.get("one_answer_share", 1.0) for row in group if "one_answer" in row]
        splits = ("best", "last", *(("test",) if all(row.get("test") for row in group) else ()))
        summary.append(
            {
                "model": first.get("model", ""),
                "task": first["task"],
                "init": first["init"],
                "n": len(group),
                "data_note": first["data_note"],
                "examples": first["examples"],
                "data_hash": first.get("data_hash"),
                "settings": first["settings"],
                # jobs that predict one label, and for which share of the examples at least
                **({"collapsed": len(shares), "collapsed_share": min(shares)} if shares else {}),
                **{
                    split: {
                        metric: spread([row[split][metric] for row in group]) for metric in metrics_of(first["task"])
                    }
                    for split in splits
                },
                "tried": tried,
            }
        )
    return summary


def unequal(summary: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Return task → the settings in which the entries of a summary differ, "data" and "seeds" among them. With any,
    none of the task's scores is the best. Values that a search chose from equally many sets are no difference, nor is
    the number of CPU threads."""
    differences = {}
    for task in dict.fromkeys(entry["task"] for entry in summary):
        entries = [entry for entry in summary if entry["task"] == task]
        tried = {entry["tried"] for entry in entries}
        left_out = {"threads", *(GRID if len(tried) == 1 and tried != {1} else ())}
        differences[task] = [
            *differing(
                [
                    {name: value for name, value in entry["settings"].items() if name not in left_out}
                    | {"data": (entry["data_hash"], entry["examples"]), "seeds": entry["n"], "search": entry["tried"]}
                    for entry in entries
                ]
            )
        ]
    return {task: names for task, names in differences.items() if names}


def flat_scores(summary: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return {"klue/TASK/METRIC": mean} of the pretrained model's best scores on dev, of other suites, too; random ones
    as "klue-random/…", those on a test set as "klue-test/…" and "klue-random-test/…"."""
    scores = {}
    for entry in summary:
        group = "klue" if entry["init"] == "pretrained" else "klue-random"
        for split, name in (("best", group), ("test", f"{group}-test")):
            for metric, value in entry.get(split, {}).items():
                if value["mean"] is not None:
                    scores[f"{name}/{entry['task']}/{metric}"] = value["mean"]
    return scores


def chosen(rows: Sequence[dict[str, Any]]) -> list[tuple[list[dict[str, Any]], int]]:
    """Return the rows of each model, task and initialisation with the settings best on dev, and how many were tried.
    Models are in the order of their first rows, the rest as in `sort_rows`."""
    models = dict.fromkeys(row.get("model", "") for row in rows)
    groups: dict[tuple[str, str, str], dict[tuple[Any, ...], list[dict[str, Any]]]] = {}
    for model in models:
        for row in sort_rows(row for row in rows if row.get("model", "") == model):
            groups.setdefault((model, row["task"], row["init"]), {}).setdefault(_values(row), []).append(row)
    best = []
    for (_, task, _), settings in groups.items():
        choices = list(settings.values())
        metrics = {row["settings"].get("metric_for_best_model") for choice in choices for row in choice}
        metric = (metrics.pop() if len(metrics) == 1 else None) or TASKS[task].selection
        means = [spread([row["best"][metric] for row in choice])["mean"] for choice in choices]
        defined = [-math.inf if mean is None else mean for mean in means]
        best.append((choices[defined.index(max(defined))], len(choices)))  # the first of equals
    return best
