"""Result rows as files have them: read through the one door for results, each score within its metric's range."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.message import from_tree
from common.results import (
    CORRELATION,
    PERCENT,
    SHARE,
    UNFIT,
    check_number,
    is_there,
    read_result,
    unfit,
)
from klue.plan import INITS
from klue.results import metrics_of
from klue.search import GRID
from klue.tasks import TASKS

RESULTS = "results.jsonl"
"""In a folder of fine-tuning: a row a job."""
REMEDY = "score again: hunmin klue finetune, or hunmin run with --from klue"
CORRELATIONS = ("pearsonr", "spearmanr")
"""Metrics that may be negative."""
TOLD = ("evaluations_per_epoch", "patience", "parser_width")
"""Settings beside those of a search that tables count with, where rows have them."""


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """Return the result rows of a finished klue folder.

    Raises:
        UserError: the folder holds no results.jsonl, or one without a manifest that is damaged or empty.
        DamagedError: the file is not as its manifest describes it.
    """
    path = folder / RESULTS
    if not is_there(path):
        raise UserError(
            f"{folder} holds no {RESULTS}", "scores are read from a finished klue folder", "hunmin klue finetune"
        )
    rows = [with_message(row) for row in read_result(path, check_row, REMEDY)]
    if not rows:
        raise UserError(f"{path} holds no results", "scores are read from a finished klue folder")
    return rows


def read_job(path: Path) -> dict[str, Any]:
    """Return the result row in a job's file. Raises DamagedError where it is damaged or was edited."""
    return dict(read_result(path, check_row, "move it away: the job is done again", sealed=True))


def with_message(row: dict[str, Any]) -> dict[str, Any]:
    """Return a result row whose note is a message again, which can be said in another language."""
    return {**row, "data_note": from_tree(row.get("data_message", row["data_note"]))}


def check_row(row: dict[str, Any]) -> None:
    """Raise one of `common.results.UNFIT` for what is no job's result row, or holds an impossible number."""
    texts = ("task", "init", "data_note", *({"model", "job", "data_hash", "fingerprint"} & row.keys()))
    if odd := [name for name in texts if not isinstance(row[name], str)]:
        raise ValueError(f"{odd[0]} is no text")
    for split in ("best", "last", *(["test"] if row.get("test") is not None else [])):
        check_scores(row["task"], row["init"], row[split])
    check_number("seed", row["seed"], whole=True)
    check_number("one_answer_share", row.get("one_answer_share", 1), SHARE)
    for name, count in {"train": 0, "dev": row["examples"]["dev"], **row["examples"]}.items():
        check_number(f"{name} examples", count, whole=True)
    settings = row["settings"]
    for name in (*GRID, *(name for name in TOLD if settings.get(name) is not None)):
        check_number(name, settings[name])
    if "/" in row.get("job", "") or row.get("job", "").startswith("."):
        raise ValueError(f"{row['job']!r} is no name of a job's folder")
    with_message(row)


def check_entry(entry: dict[str, Any]) -> None:
    """Raise one of `common.results.UNFIT` for what is no entry of a checkpoint's scores, or holds an impossible
    number."""
    check_number("step", entry["step"], whole=True)
    check_number("tokens", entry["tokens"] or 0, whole=True)
    check_scores(entry["task"], entry["init"], {metric: of["mean"] for metric, of in entry["best"].items()})
    for metric, of in entry["best"].items():
        check_number(f"standard deviation of {metric}", of["sd"] or 0)


def check_flat(path: Path, row: Mapping[str, Any]) -> None:
    """Raise a UserError where a row of `path` holds an impossible score; see `klue.results.flat_scores`."""
    try:
        for name, value in row.items():
            if name not in ("step", "tokens"):
                _check_score(name.rpartition("/")[2], value)
    except UNFIT as error:
        raise unfit(path, error, "remove it", own=False) from None


def check_scores(task: str, init: str, scores: Mapping[str, Any]) -> None:
    """Raise one of `common.results.UNFIT` where a task's scores × 100 lack a metric, or one has an impossible value;
    one that is undefined is None."""
    if task not in TASKS or init not in INITS:
        raise ValueError(f"there is no task {task!r} from {init!r} weights")
    for metric in metrics_of(task):
        if scores[metric] is not None:
            _check_score(metric, scores[metric])


def _check_score(metric: str, value: Any) -> None:
    check_number(metric, value, CORRELATION if metric in CORRELATIONS else PERCENT)
