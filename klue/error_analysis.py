"""A task's details and worst examples, of each model, as rows and as tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from klue.breakdown import confusion, details, errors_of, has_labels
from klue.compare import systems_of
from klue.grid import Grid
from klue.tables import cell, model_title
from klue.tasks import TASKS
from klue.tasks.base import Example


def detail_rows(rows: Sequence[dict[str, Any]], task: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return `klue.breakdown.details` of each system, and what is missing, see `klue.compare.systems_of`."""
    systems, missing = systems_of(rows, task)
    detailed = [
        {"model": system.model, "init": system.init, "split": system.split, **row}
        for system in systems
        for row in details(task, list(system.gold.values()), system.lists)
    ]
    return detailed, missing


def confusions(rows: Sequence[dict[str, Any]], task: str) -> list[tuple[str, list[str], np.ndarray]]:
    """Return title, labels and counts (`klue.breakdown.confusion`) of each system; none where there are no labels."""
    if not has_labels(task):
        return []
    return [
        (system.title, *confusion(task, list(system.gold.values()), system.lists))
        for system in systems_of(rows, task)[0]
    ]


def detail_grids(rows: Sequence[dict[str, Any]], task: str) -> list[Grid]:
    """Return the tables of a task's details, one a model and initialisation; mean ± standard deviation over seeds."""
    grids = []
    for system, system_rows in _by_system(rows).items():
        names = [name for name in system_rows[0] if name not in ("model", "init", "split", "group", "count")]
        body = [[row["group"], f"{row['count']:,}", *(cell(row[name]) for name in names)] for row in system_rows]
        grids.append((f"{TASKS[task].title}, {system_rows[0]['split']}: {system}", ["", "in gold", *names], body))
    return grids


def worst(rows: Sequence[dict[str, Any]], task: str, examples: Sequence[Example], count: int) -> list[dict[str, Any]]:
    """Return {"model", "init", "guid", "error", "texts", "gold", "predictions"} of each system's examples with most
    error, the mean over seeds; those without error are left out."""
    texts = {example.guid: example.texts for example in examples}
    worst_rows = []
    for system in systems_of(rows, task)[0]:
        errors = {
            guid: sum(errors_of(task, label, seed[guid]) for seed in system.seeds) / len(system.seeds)
            for guid, label in system.gold.items()
        }
        for guid in sorted(system.gold, key=lambda guid: -errors[guid])[:count]:
            if errors[guid] > 0:
                worst_rows.append(
                    {
                        "model": system.model,
                        "init": system.init,
                        "guid": guid,
                        "error": errors[guid],
                        "texts": list(texts.get(guid, ())),
                        "gold": system.gold[guid],
                        "predictions": [seed[guid] for seed in system.seeds],
                    }
                )
    return worst_rows


def worst_grids(rows: Sequence[dict[str, Any]], task: str) -> list[Grid]:
    """Return the tables of the worst examples, one a model and initialisation."""
    head = ["guid", "error", "text", "gold", "predictions"]
    grids = []
    for system, system_rows in _by_system(rows).items():
        body = [
            [
                row["guid"],
                f"{row['error']:.2f}",
                " / ".join(row["texts"]),
                _short(row["gold"]),
                "; ".join(map(_short, row["predictions"])),
            ]
            for row in system_rows
        ]
        grids.append((f"{TASKS[task].title}, most error: {system}", head, body))
    return grids


def _by_system(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    by_system: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_system.setdefault(model_title(row["model"], row["init"]), []).append(row)
    return by_system


def _short(value: Any) -> str:
    value = value["label"] if isinstance(value, dict) and "probabilities" in value else value
    if isinstance(value, str):
        return value
    return f"{value:.2f}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
