"""Gold labels beside the jobs' predictions, so that scores can be looked into without the benchmark's files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.files import atomic_write
from klue.examples import Splits
from klue.plan import jobs_of
from klue.results import chosen
from klue.score import defined
from klue.tasks import TASKS
from klue.tasks.base import Example

FOLDER = "gold"
"""Folder of the labels in a stage's folder: labels alone, no texts."""
PREDICTIONS = {"dev": "predictions.jsonl", "test": "predictions-test.jsonl"}
"""Split → name of a job's predictions."""


def write_gold(splits: Mapping[str, Splits], out: Path) -> None:
    """Write the labels of the tasks' dev and test examples into a stage's folder; those that are there stay."""
    for task, split in splits.items():
        parts: Mapping[str, Sequence[Example]] = {"dev": split.dev} | ({"test": split.test} if split.test else {})
        for name, examples in parts.items():
            path = _gold_file(out, task, split.data_hash, name)
            if path.is_file():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path, as_given=True) as stream:
                for example in examples:
                    stream.write(json.dumps({"guid": example.guid, "label": example.label}, ensure_ascii=False) + "\n")


def read_gold(out: Path, row: dict[str, Any], split: str) -> dict[str, Any] | None:
    """Return guid → label of the split that a result row was scored on; None where the folder has none."""
    lines = _lines(_gold_file(out, row["task"], row["data_hash"], split))
    return None if lines is None else {line["guid"]: line["label"] for line in lines}


def read_job_predictions(out: Path, job: str, split: str) -> dict[str, Any] | None:
    """Return guid → prediction of a job; None where it left none."""
    lines = _lines(jobs_of(out) / job / PREDICTIONS[split])
    return None if lines is None else {line["guid"]: line["prediction"] for line in lines}


def with_test_scores(rows: Sequence[dict[str, Any]], out: Path) -> list[dict[str, Any]]:
    """Return result rows, those that were best on dev with `test`, the scores × 100 of the test set.

    Of several settings only the one that is best on dev is scored, and once: nothing is chosen by these.
    """
    best = {row["job"] for group, _ in chosen(rows) for row in group}
    found = []
    for row in rows:
        scores = _test_scores(row, out) if row["job"] in best and row["examples"].get("test") else None
        found.append({**row, "test": scores} if scores else row)
    return found


def _test_scores(row: dict[str, Any], out: Path) -> dict[str, float | None] | None:
    gold, predicted = read_gold(out, row, "test"), read_job_predictions(out, row["job"], "test")
    if gold is None or predicted is None or gold.keys() != predicted.keys():
        return None
    scores = TASKS[row["task"]].score(list(gold.values()), [predicted[guid] for guid in gold])
    return {name: defined(value) for name, value in scores.items()}


def _gold_file(out: Path, task: str, data_hash: str, split: str) -> Path:
    return out / FOLDER / f"{task}-{data_hash[:12]}" / f"{split}.jsonl"


def _lines(path: Path) -> list[dict[str, Any]] | None:
    if not path.is_file():
        return None
    with path.open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]
