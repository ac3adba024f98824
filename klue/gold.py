"""Gold labels beside the jobs' predictions, so that scores can be looked into without the benchmark's files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from common.files import atomic_write
from common.results import read_result, refuse_unfit
from klue.examples import Splits
from klue.plan import jobs_of
from klue.result_rows import FIX, RESULTS
from klue.results import chosen
from klue.score_file import defined
from klue.tasks import TASKS

GOLD = "gold/{task}-{data_hash:.12}/{split}.jsonl"
"""File of a split's labels in a stage's folder: labels alone, no texts."""
PREDICTIONS = {"dev": "predictions.jsonl", "test": "predictions-test.jsonl"}
"""Split → name of a job's predictions."""
ROUNDED = 0.01
"""Least difference of scores that does not come from the rounding of predictions."""


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
    """Raise a ValueError where predictions give other scores than those stated."""
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
