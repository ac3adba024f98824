"""Results as files have them: rows, read through the one door for results, each score within its metric's range; and
gold labels beside the jobs' predictions, so that scores can be looked into without the benchmark's files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import atomic_write
from common.message import from_tree
from common.results import (
    AMOUNT,
    CORRELATION,
    PERCENT,
    SHARE,
    Bounds,
    check_distinct,
    check_numbers,
    is_there,
    read_result,
    refuse_unfit,
)
from klue.examples import Splits
from klue.plan import INITS, jobs_of
from klue.results import chosen, metrics_of
from klue.score_file import defined
from klue.tables import tables
from klue.tasks import TASKS, add_own
from klue.tasks.own import METRICS_OF, OwnFiles, OwnTask
from klue.training import GRID

RESULTS = "results.jsonl"
"""File of a folder of fine-tuning: a row a job."""
FIX = "score again: hunmin klue finetune, or hunmin run with --from klue"
COUNTED = ("train", "dev", "test", "train_cut", "train_in_dev")
"""Examples that rows count."""
BOUNDS: dict[str, Bounds] = {
    **{metric: PERCENT for task in TASKS for metric in metrics_of(task)},
    **{metric: PERCENT for metrics in METRICS_OF.values() for metric in metrics},
    **dict.fromkeys(("pearsonr", "spearmanr"), CORRELATION),
    **dict.fromkeys((*GRID, *COUNTED, "seed", "n", "step", "tokens", "epoch", "evaluations_per_epoch"), AMOUNT),
    "one_answer_share": SHARE,
}
"""Key in a row → the range of its number."""
GOLD = "gold/{task}-{data_hash:.12}/{split}.jsonl"
"""File of a split's labels in a stage's folder: labels alone, no texts."""
PREDICTIONS = {"dev": "predictions.jsonl", "test": "predictions-test.jsonl"}
"""Split → name of a job's predictions."""
ROUNDED = 0.01
"""Least difference of scores that does not come from the rounding of predictions."""


def bounds_of(key: str) -> Bounds | None:
    """Return the bounds of a metric or count by its key in a row, or in a log (klue/TASK/METRIC)."""
    return BOUNDS.get(key.rpartition("/")[2])


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """Return the result rows of a finished klue folder.

    Raises:
        UserError: the folder holds no results.jsonl, or one without a manifest that is damaged or empty.
        DamagedError: the file is not as its manifest describes it.
    """
    rule = "scores are read from a finished klue folder"
    path = folder / RESULTS
    if not is_there(path):
        raise UserError(f"{folder} holds no {RESULTS}", rule, "hunmin klue finetune")
    if rows := read_result(path, check_row, FIX):
        refuse_unfit(path, lambda: check_rows(rows), FIX, own=False)
        return [with_message(row) for row in rows]
    raise UserError(f"{path} holds no results", rule)


def read_job(path: Path) -> dict[str, Any]:
    """Return the result row in a job's file. Raises DamagedError where it is damaged or was changed."""
    return dict(read_result(path, check_row, "move it away: the job is done again", sealed=True))


def with_message(row: dict[str, Any]) -> dict[str, Any]:
    """Return a result row whose note is a message again, which can be said in another language."""
    return {**row, "data_note": from_tree(row.get("data_message", row["data_note"]))}


def check_rows(rows: list[dict[str, Any]]) -> None:
    """Raise a ValueError where a row repeats another: a mean would count it as a seed of its own."""
    check_distinct(rows, "model", "task", "init", "seed", "settings")


def check_own(row: OwnTask) -> None:
    """Take an own task's row into the register. Raises UserError where another of that name is there already."""
    current = TASKS.get(row.name)
    if isinstance(current, OwnFiles) and (current.row.kind, [*current.labels]) != (row.kind, row.labels):
        first, second = (
            f"{r.kind}, {', '.join(labels)}" for r, labels in ((current.row, current.labels), (row, row.labels))
        )
        raise UserError(
            f"own task {row.name} is two tasks: one of {first:.200}; one of {second:.200}",
            "results that are shown together have the same kind and labels",
            "give one of the two another name, and score again",
        )
    if current is None:
        add_own(row)


def check_row(row: dict[str, Any]) -> None:
    """Raise one of `common.results.UNFIT` for what is no job's result row, or holds an impossible number."""
    check_numbers({key: value for key, value in row.items() if key != "own"}, bounds_of)
    if row.get("own"):
        check_own(OwnTask.model_validate(row["own"]))
    if row["init"] not in INITS or "/" in row.get("job", ""):
        raise ValueError(f"{row['init']} {row.get('job', '')} is no job")
    tables([with_message(row)])  # all that is shown of it


def write_gold(splits: Mapping[str, Splits], out: Path) -> None:
    """Write the labels of the tasks' dev and test examples into a stage's folder; those that are there stay."""
    for task, task_splits in splits.items():
        for split, examples in (("dev", task_splits.dev), ("test", task_splits.test)):
            path = out / GOLD.format(task=task, data_hash=task_splits.data_hash, split=split)
            if not examples or path.is_file():
                continue
            with atomic_write(path, as_given=True) as stream:
                for example in examples:
                    stream.write(json.dumps({"guid": example.guid, "label": example.label}, ensure_ascii=False) + "\n")


def read_answers(out: Path, row: dict[str, Any], split: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return guid → label and guid → prediction of a row's job; None where a file or a prediction is missing. Raises
    DamagedError where the predictions do not give the row's scores."""
    gold = out / GOLD.format(task=row["task"], data_hash=row["data_hash"], split=split)
    predictions = jobs_of(out) / row.get("job", "") / PREDICTIONS[split]
    answers: list[dict[str, Any]] = []
    for path, field in ((gold, "label"), (predictions, "prediction")):
        if not path.is_file():
            return None
        lines = read_result(path, itemgetter("guid", field), FIX)
        answers.append({line["guid"]: line[field] for line in lines})
    labels, predicted = answers
    if not labels.keys() <= predicted.keys():
        return None
    if stated := row.get("test" if split == "test" else "best"):
        refuse_unfit(predictions, partial(_check_scores, row["task"], stated, labels, predicted), FIX)
    return labels, predicted


def _check_scores(task: str, stated: Mapping[str, Any], labels: dict[str, Any], predicted: dict[str, Any]) -> None:
    for name, value in TASKS[task].score([*labels.values()], [predicted[guid] for guid in labels]).items():
        if stated.get(name) is not None and not abs(value - stated[name]) < ROUNDED:
            raise ValueError(f"they give {name} {value:.2f}, not the {stated[name]:.2f} of {RESULTS}")


def with_test_scores(rows: Sequence[dict[str, Any]], out: Path) -> list[dict[str, Any]]:
    """Return the rows, those that are best on dev with `test` scores × 100, by which nothing is chosen."""
    best = {row["job"] for group, _ in chosen(rows) for row in group}
    scored = []
    for row in rows:
        if row["job"] in best and row["examples"].get("test") and (answers := read_answers(out, row, "test")):
            gold, predicted = answers
            scores = TASKS[row["task"]].score(list(gold.values()), [predicted[guid] for guid in gold])
            row = {**row, "test": {name: defined(value) for name, value in scores.items()}}
        scored.append(row)
    return scored
