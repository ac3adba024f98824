"""What fine-tuning makes of each task of every suite: splits, features, values of training, and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from klue.examples import Splits, load_splits
from klue.features import (
    evaluation_batches,
    evaluation_steps,
    learning_rate_share,
    load_tokenizer,
    make_features,
    train_batches,
)
from klue.metrics.dependencies import weighted_dependency_scores
from klue.metrics.entities import LABELS as ENTITY_LABELS
from klue.metrics.entities import weighted_entity_scores
from klue.model_folder import ModelFacts, read_model_folder
from klue.plan import plan_jobs, steps_of
from klue.settings import KlueSettings
from klue.tasks import SUITES, TASKS
from klue.tasks.base import LARGE_FROM_HIDDEN, Task
from klue.tasks.klue.dp import LABELS as RELATIONS
from klue.training import resolve_training
from tests.klue.conftest import sample_characters, write_model, write_sample
from tests.klue.faultless import faultless
from tests.klue.once import once
from tests.klue.suite_files import write_suites

CODE = (
    *("data/nfc.py", "klue/authors.py", "klue/heads", "klue/metrics", "klue/tasks"),
    *(f"klue/{name}.py" for name in ("examples", "features", "finetune", "model_folder", "plan", "score")),
    *(f"klue/{name}.py" for name in ("settings", "tokens", "training")),
)
INPUT = (
    *("tests/rules/finetuning.py", "hunmin/sample/sample.tar.xz"),
    *("tests/klue/conftest.py", "tests/klue/faultless.py", "tests/klue/suite_files.py"),
)
EXAMPLES = 6
"""Of a split whose features are looked at."""
LENGTHS = np.array([7, 3, 9, 9, 1, 12, 5, 3, 8, 2, 30, 4])


def output(folder: Path) -> dict[str, Any]:
    """Read every task below a folder, and return its splits, features, values and scores; and the planned jobs."""
    folder.mkdir(parents=True)
    klue, suites = write_sample(folder / "klue"), write_suites(folder / "suites")
    settings = KlueSettings(
        data=str(klue), benchmarks=str(suites), suites=list(SUITES), seeds=2, baseline_random=True, search="none",
    )  # fmt: skip
    models = {kind: _model(folder / kind, kind) for kind in ("roberta", "bert")}
    splits = {
        name: load_splits(task, settings.folder_of(name), source=settings.source_of(name))
        for name, task in TASKS.items()
    }
    tasks = {name: _of_task(task, splits[name], models, settings) for name, task in TASKS.items()}
    jobs = plan_jobs(settings, models["roberta"], splits, "cpu", folder / "out")
    return {
        "tasks": tasks,
        "jobs": [[job.name, job.metric, job.keep_head, job.seed, job.init, steps_of(job)] for job in jobs],
        "grid": [job.name for job in plan_jobs(_grid(klue), models["bert"], splits, "cpu", folder / "out")],
        "batches": [train_batches(LENGTHS, 4, 42, epoch) for epoch in range(2)] + [evaluation_batches(LENGTHS, 24)],
        "metrics": _metrics(),
        "evaluations": [evaluation_steps(steps, count) for steps, count in ((10, 4), (3, 4), (7, 2))],
        "rates": [learning_rate_share(step, 10, share) for share in (0.0, 0.25) for step in range(11)],
    }


def _metrics() -> dict[str, Any]:
    """Return the scores of labels that no sample holds, all in odd orders, and of answers in several spellings."""
    labels = [[ENTITY_LABELS[(n * n + n * k + k // 2) % len(ENTITY_LABELS)] for k in range(16)] for n in range(12)]
    moved = [[row[k] if (n + k) % 4 else row[k - 1] for k in range(16)] for n, row in enumerate(labels)]
    words = range(len(RELATIONS))
    parse = {"heads": [(7 * n) % len(RELATIONS) for n in words], "labels": list(RELATIONS)}
    wrong = {
        "heads": [head if n % 5 else (head + 1) % len(RELATIONS) for n, head in enumerate(parse["heads"])],
        "labels": [name if n % 7 else RELATIONS[n - 1] for n, name in enumerate(parse["labels"])],
    }
    answers = [["가람 마을", "마을"], ["세 번째 돌다리", "돌다리"], [], ["1950년"], ["『옛 책』"]]
    predictions = ["마을", "세번째 돌다리에서", "", "1950 년", "옛 책"]
    return {
        "entities": _known(once(weighted_entity_scores)(labels, moved)),
        "dependencies": _known(once(weighted_dependency_scores)([parse], [wrong], RELATIONS)),
        "reading": _known(TASKS["klue-mrc"].score(answers, predictions)),
        "korquad": _known(TASKS["korquad"].score(answers[3:], predictions[3:])),
    }


def _grid(klue: Path) -> KlueSettings:
    return KlueSettings(data=str(klue), tasks=["ynat"], search="grid", seeds=[1])


def _model(folder: Path, kind: str) -> ModelFacts:
    """Return a model of a kind that reads all tasks, with more positions than it has."""
    suite_text = sample_characters() + "".join(map(chr, range(0xAC00, 0xAC00 + 200)))
    return replace(read_model_folder(write_model(folder, kind, suite_text)), max_positions=512)


def _of_task(task: Task, splits: Splits, models: dict[str, ModelFacts], settings: KlueSettings) -> dict[str, Any]:
    few = splits.dev[:EXAMPLES]
    output: dict[str, Any] = {
        "splits": {
            name: [example.guid for example in getattr(splits, name)] for name in ("train", "dev", "test")
        } | {"counts": splits.counts, "note": splits.note},
        "examples": [asdict(example) for example in few],
        "values": [resolve_training(settings, task, width).values for width in (768, LARGE_FROM_HIDDEN)],
        "metrics": [task.metrics, task.extra_metrics, task.as_published, task.selection, task.labels, task.head],
    }  # fmt: skip
    for kind, model in models.items():
        tokenizer = load_tokenizer(model.folder)
        for length in (48, 160):
            made = make_features(task, few, tokenizer, model, length)
            output[f"{kind}, {length}"] = {
                "owner": made.owner, "columns": made.columns, "shared": made.shared, "cut": made.cut
            }  # fmt: skip
        every = make_features(task, splits.dev, tokenizer, model, 160)
        outputs = faultless(task, every)
        right = task.decode(outputs, every, tokenizer)
        published = task.published(outputs, every, tokenizer)
        output[f"{kind}, scores"] = {
            "right": [right, _known(task.score(every.labels, right)), _known(published)],
            "some wrong": _known(task.score(every.labels, _moved(task, right))),
        }
    return output


def _moved(task: Task, predictions: Sequence[Any]) -> list[Any]:
    """Return predictions of which every third is its neighbour's; of labels of words, its own one word further; of
    answers, without its beginning, and of those behind in brackets."""
    if task.head == "span":
        return [(guess[1:], f"({guess}).", guess)[n % 3] for n, guess in enumerate(predictions)]
    if task.head not in ("tokens", "biaffine"):
        return [guess if n % 3 else predictions[(n + 1) % len(predictions)] for n, guess in enumerate(predictions)]
    return [guess if n % 3 else _turned(guess) for n, guess in enumerate(predictions)]


def _turned(labels: Any) -> Any:
    if isinstance(labels, dict):
        return {name: _turned(values) for name, values in labels.items()}
    return [*labels[1:], *labels[:1]]


def _known(scores: dict[str, float]) -> dict[str, float | None]:
    return {name: None if np.isnan(value) else float(value) for name, value in scores.items()}


def unhit(output: dict[str, Any]) -> list[str]:
    """Return tasks that have nothing to learn or score, or whose metrics find no fault in faulty predictions."""
    lacking = [f"{name} features" for name, result in output["tasks"].items() if not result["roberta, 48"]["columns"]]
    lacking += [f"{name} cut" for name in TASKS if name in ("klue-mrc", "wos") and _uncut(output["tasks"][name])]
    blind = [
        f"{name} {metric}"
        for name, result in output["tasks"].items()
        for metric, score in result["roberta, scores"]["some wrong"].items()
        if score is not None and score == result["roberta, scores"]["right"][1][metric]
    ]
    return [*(name for name in TASKS if name not in output["tasks"]), *lacking, *blind]


def _uncut(task: dict[str, Any]) -> bool:
    return not task["roberta, 48"]["cut"] and len(task["roberta, 48"]["owner"]) == len(task["roberta, 160"]["owner"])
