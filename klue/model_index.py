"""Scores for the model card as the hub reads them: `model-index`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from klue.results import metrics_of, not_the_benchmarks, shown_scores, summarize
from klue.synthetic import synthetic_tasks
from klue.tasks import SUITE_OF, SUITES, TASKS

HUB_TASKS = {
    "ynat": "text-classification",
    "klue-sts": "sentence-similarity",
    "klue-nli": "text-classification",
    "klue-ner": "token-classification",
    "klue-re": "text-classification",
    "klue-dp": "token-classification",
    "klue-mrc": "question-answering",
    "wos": "text-generation",
    "kobest-copa": "multiple-choice",
    "kobest-hellaswag": "multiple-choice",
    "korsts": "sentence-similarity",
    "korquad": "question-answering",
}
"""The hub's names for kinds of tasks; those that are not named classify text."""


def model_index(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the `model-index` of a model card on the hub: every metric of the pretrained model, with its data.

    They are of the test set where that is public, else of dev. Scores on other examples than the benchmark's whole set
    do not carry its name.

    Args:
        name: of the model.
        rows: result rows of jobs (results.jsonl).
    """
    results, other = [], not_the_benchmarks(rows)
    for entry in summarize(rows):
        if entry["init"] != "pretrained":
            continue
        task = TASKS[entry["task"]]
        dataset: dict[str, Any] = {"type": "other", "name": f"{SUITES[SUITE_OF[task.name]].title}: {task.title}"}
        if task.hub_config:
            dataset = {"type": "klue/klue", "name": task.title, "config": task.hub_config}
        dataset["split"] = "test" if "test" in entry else "validation"
        if entry["task"] in synthetic_tasks([entry]):
            dataset = {"type": "other", "name": f"synthetic examples in the form of {task.title}"}
        elif entry["task"] in other:
            dataset = {"type": "other", "name": f"{other[entry['task']]:,} examples in the form of {task.title}"}
        if entry["data_note"]:
            dataset["args"] = {"note": entry["data_note"]}
        names = metrics_of(entry["task"])
        metrics = [
            {"type": metric, "name": names[metric], "value": round(value["mean"], 4)}
            for metric, value in shown_scores(entry).items()
            if value["mean"] is not None
        ]
        results.append(
            {
                "task": {"type": HUB_TASKS.get(entry["task"], "text-classification")},
                "dataset": dataset,
                "metrics": metrics,
            }
        )
    return {"model-index": [{"name": name, "results": results}]}
