"""The card of a fine-tuned model: task, classes, data, scores, base, how it is loaded; no text of the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.files import HUB
from klue.grid import markdown_lines, md
from klue.plan import Job
from klue.table_forms import markdown
from klue.tasks import SUITE_OF, SUITES, get_task
from klue.tasks.base import Task
from klue.tasks.own import OwnFiles
from klue.usage import usage

SPLITS = ("train", "dev", "test")


def write_card(
    job: Job,
    scores: Mapping[str, Any],
    place: str,
    classes: Mapping[str, int],
    base: str = "",
    rows: Sequence[dict[str, Any]] = (),
) -> str:
    """Return the card of a saved model, Markdown without metadata.

    Args:
        scores: of its weights' evaluation on dev.
        place: folder or OWNER/NAME that `usage` loads it from.
        classes: `class_counts` of its train examples.
        base: the model that was fine-tuned, hf:OWNER/NAME@COMMIT; "": it is not on the hub.
        rows: result rows to stand beside: of other seeds, random weights, other models.
    """
    task = get_task(job.task)
    names = {**task.metrics, **task.extra_metrics}
    lines = [[names[key], f"{scores[key]:.2f}"] for key in names if isinstance(scores.get(key), float)]
    values = job.training
    start = (
        "from random initialisation" if job.init == "random" else f"from {md(base.removeprefix(HUB) or job.model_name)}"
    )
    facts = {
        **_task_facts(task),
        "classes (train examples)": ", ".join(f"{md(label)} {count:,}" for label, count in classes.items()),
        "examples": ", ".join(f"{job.examples[split]:,} {split}" for split in SPLITS if job.examples.get(split)),
        "of the data": md(job.data_note),
        "weights": start,
        "training": f"seed {job.seed}, learning rate {values.learning_rate:g}, epochs {values.epochs}, batches of "
        f"{values.global_batch}",
        "longest input": f"{values.max_seq_len} tokens; longer texts are cut",
    }
    table = markdown_lines(["", ""], [[name, value] for name, value in facts.items() if value])
    beside = ["## Seeds, random weights, other models", "", markdown(rows)] if len(rows) > 1 else []
    return "\n".join(
        [
            f"# {md(job.model_name)}, fine-tuned for {md(task.title)}",
            "",
            usage(task, place),
            "",
            *table,
            *markdown_lines(["metric, best evaluation on dev", "× 100"], lines, right=True),
            *beside,
        ]
    )


def _task_facts(task: Task) -> dict[str, str]:
    if not isinstance(task, OwnFiles):
        return {"task": md(f"{SUITES[SUITE_OF[task.name]].title}: {task.title}")}
    row = task.row
    share = f", dev: {row.dev:g} of train" if not isinstance(row.dev, str) else ""
    return {
        "task": f"{md(task.title)}: {row.kind}",
        "fields": f"{md(', '.join([*row.text, *row.choices]))} → {md(', '.join(row.label))}",
        "files": md(", ".join(f"{split}: {Path(name).name}" for split, name in row.places.items() if name) + share),
    }


def class_counts(task: Task, labels: Sequence[Any]) -> dict[str, int]:
    """Return class → how many examples have it, of a tagger how many entities; {} of a task without classes.

    Args:
        labels: of the examples.
    """
    if not task.labels or task.head not in ("sequence", "labels", "tokens", "choice"):
        return {}
    counts = Counter(part for label in labels for part in ([label] if isinstance(label, str) else label))
    if task.head == "tokens":
        return {label[2:]: counts[label] for label in task.labels if label.startswith("B-")}
    return {label: counts[label] for label in task.labels}
