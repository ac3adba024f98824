"""Scores for the model card as the hub reads them: `model-index`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from klue.results import metrics_of, not_comparable, shown_scores, summarize
from klue.tasks import SUITE_OF, SUITES, TASKS
from klue.tasks.base import Task

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

HUB_TASKS = {
    "sequence": "text-classification",
    "labels": "text-classification",
    "tokens": "token-classification",
    "biaffine": "token-classification",
    "span": "question-answering",
    "choice": "multiple-choice",
    "trade": "text-generation",
}
"""Head of a task → the hub's name of its kind."""


def hub_task(task: Task) -> str:
    """Return the hub's name of a task's kind; a number for two texts is their similarity."""
    is_similarity = task.head == "sequence" and task.outputs == 1 and len(task.text_columns) == 2
    return "sentence-similarity" if is_similarity else HUB_TASKS[task.head]


def eval_results(rows: Sequence[dict[str, Any]]) -> list[EvalResult]:
    """Return every metric of the pretrained model with its data, for the `model-index` of a card on the hub. Scores are
    of the public test set, else of dev, and only of models that were trained and scored on all of the data: the hub
    shows them under its name. `metric_args` hold the seeds, and the standard deviation where there are several."""
    from huggingface_hub import EvalResult

    results, partial = [], not_comparable(rows)
    for entry in summarize(rows):
        if entry["init"] != "pretrained" or entry["task"] in partial:
            continue
        task, key = TASKS[entry["task"]], ("task", "init", "settings")
        kind = "other"
        name = f"{SUITES[SUITE_OF[task.name]].title}: {task.title}"
        if task.hub_config:
            kind, name = "klue/klue", task.title
        for metric, value in shown_scores(entry).items():
            if value["mean"] is None:
                continue
            seeds = sorted(row["seed"] for row in rows if all(row[part] == entry[part] for part in key))
            spread = {} if value["sd"] is None else {"standard_deviation": round(value["sd"], 4)}
            results.append(
                EvalResult(
                    task_type=hub_task(task),
                    dataset_type=kind,
                    dataset_name=name,
                    dataset_config=task.hub_config or task.name,  # results are grouped by it, not by the name
                    dataset_split="test" if "test" in entry else "validation",
                    dataset_args={"note": entry["data_note"]} if entry["data_note"] else None,
                    metric_type=metric,
                    metric_name=metrics_of(task.name)[metric],
                    metric_value=round(value["mean"], 4),
                    metric_args={"seeds": seeds, **spread},
                )
            )
    return results
