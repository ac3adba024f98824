"""Scores handed on: to wandb beside the run's metrics, and to the model card as the hub reads it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.manifest import read_manifest
from hunmin.recipe import Recipe
from klue.results import metrics_of
from klue.tasks import SUITE_OF, SUITES, TASKS

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

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

NOT_SCORED = "skipped: the recipe has no klue section"
"""What is said of the stage `klue` of a run without one."""


def score_rows(run: Path) -> list[dict[str, Any]]:
    """Return the result rows of a run's finished stage `klue`; none where it was skipped.

    Raises:
        UserError: the results are missing or damaged.
    """
    from klue.report import read_rows

    manifest = read_manifest(run / "klue")
    return [] if manifest and manifest.counts.get("skipped") else read_rows(run / "klue")


def flat_scores(summary: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return {"klue/TASK/METRIC": mean} of the pretrained model's best scores on dev, of other suites, too; random ones
    as "klue-random/…", those on a test set as "klue-test/…" and "klue-random-test/…"."""
    found = {}
    for entry in summary:
        group = "klue" if entry["init"] == "pretrained" else "klue-random"
        for which, name in (("best", group), ("test", f"{group}-test")):
            for metric, value in entry.get(which, {}).items():
                if value["mean"] is not None:
                    found[f"{name}/{entry['task']}/{metric}"] = value["mean"]
    return found


def log_scores(recipe: Recipe, folder: Path, step: int, tokens: int | None, summary: Sequence[dict[str, Any]]) -> None:
    """Append a row of scores to `folder`/metrics.jsonl, and to wandb unless `pretrain.wandb` is off.

    Args:
        recipe: the run's recipe.
        folder: folder for logs.
        step: optimizer steps of the scored weights; a row of theirs is replaced, those of later ones stay.
        tokens: real tokens they were trained on.
        summary: entries as `klue.results.summarize` returns them.
    """
    from common.settings import dump_settings
    from pretrain.metrics import MetricsLog, read_metrics

    p, config = recipe.pretrain, {"name": recipe.name, "klue": dump_settings(recipe)["klue"]}
    later = [row for row in read_metrics(folder / "metrics.jsonl") if row["step"] > step]
    log = MetricsLog(folder, step - 1, p.wandb, p.wandb_project, config)
    for row in ({"step": step, "tokens": tokens, **flat_scores(summary)}, *later):
        log.log(row)
    log.close()


def eval_results(rows: Sequence[dict[str, Any]]) -> list[EvalResult]:
    """Return every metric of the pretrained model with its data, for the `model-index` of a card on the hub.

    They are of the test set where that is public, else of dev. Scores on other examples than the benchmark's whole set
    do not carry its name. `metric_args` hold the seeds, and the standard deviation over them where there are several.

    Args:
        rows: result rows of jobs (results.jsonl).
    """
    from huggingface_hub import EvalResult

    from klue.results import not_the_benchmarks, shown_scores, summarize
    from klue.synthetic import synthetic_tasks

    results, other = [], not_the_benchmarks(rows)
    for entry in summarize(rows):
        if entry["init"] != "pretrained":
            continue
        task, key = TASKS[entry["task"]], ("task", "init", "settings")
        kind, name = "other", f"{SUITES[SUITE_OF[task.name]].title}: {task.title}"
        if entry["task"] in synthetic_tasks([entry]):
            name = f"synthetic examples in the form of {task.title}"
        elif entry["task"] in other:
            name = f"{other[entry['task']]:,} examples in the form of {task.title}"
        elif task.hub_config:
            kind, name = "klue/klue", task.title
        for metric, value in shown_scores(entry).items():
            if value["mean"] is None:
                continue
            seeds = sorted(row["seed"] for row in rows if all(row[part] == entry[part] for part in key))
            spread = {} if value["sd"] is None else {"standard_deviation": round(value["sd"], 4)}
            results.append(
                EvalResult(
                    task_type=HUB_TASKS.get(task.name, "text-classification"),
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
