"""The card of a fine-tuned model: task, classes, data, scores, base, how it is loaded; no text of the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.files import HUB
from common.message import Message
from common.names import pinned_name
from common.progress import duration
from klue.grid import markdown_lines, md
from klue.plan import Job
from klue.table_forms import markdown
from klue.tasks import SUITE_OF, SUITES, get_task
from klue.tasks.base import SPLITS, Task
from klue.tasks.own import OwnFiles
from klue.usage import usage


def write_card(
    job: Job,
    scores: Mapping[str, Any],
    place: str,
    classes: Mapping[str, int],
    base: str = "",
    rows: Sequence[dict[str, Any]] = (),
    seconds: float | None = None,
    say: Callable[[str], str] = str,
) -> str:
    """Return the card of a saved model, Markdown without metadata.

    Args:
        scores: of its weights' evaluation on dev.
        place: folder or OWNER/NAME that `usage` loads it from.
        classes: `class_counts` of its train examples.
        base: the model that was fine-tuned, hf:OWNER/NAME@COMMIT; "": it is not on the hub.
        rows: result rows to stand beside: of other seeds, random weights, other models.
        seconds: that the fine-tuning took, evaluations included.
        say: translates each name and sentence.
    """
    task = get_task(job.task)
    names = {**task.metrics, **task.extra_metrics}
    lines = [[say(names[key]), f"{scores[key]:.2f}"] for key in names if isinstance(scores.get(key), float)]
    values = job.training
    training = Message(
        "seed {seed}, learning rate {rate}, epochs {epochs}, batches of {batch}",
        seed=str(job.seed), rate=f"{values.learning_rate:g}", epochs=values.epochs, batch=values.global_batch,
    )  # fmt: skip
    facts = {
        **_task_facts(task, say),
        "classes (train examples)": ", ".join(f"{md(label)} {count:,}" for label, count in classes.items()),
        "examples": ", ".join(f"{split} {job.examples[split]:,}" for split in SPLITS if job.examples.get(split)),
        "of the data": md(say(job.data_note)),
        "weights from": say("random initialisation")
        if job.init == "random"
        else md(base.removeprefix(HUB) or job.model_name),
        "training": say(training),
        "took": "" if seconds is None else f"{duration(seconds)} ({job.device.partition(':')[0]})",
        "longest input": say(Message("{tokens} tokens; longer texts are cut", tokens=values.max_seq_len)),
    }
    table = markdown_lines(["", ""], [[say(name), value] for name, value in facts.items() if value])
    head = [say("metric, best evaluation on dev"), "× 100"]
    beside = [f"## {say('Seeds, random weights, other models')}", "", markdown(rows, say=say)] if len(rows) > 1 else []
    title = Message("{model}, fine-tuned for {task}", model=md(job.model_name), task=md(task.title))
    return "\n".join(
        [f"# {say(title)}", "", usage(task, place), "", *table, *markdown_lines(head, lines, right=True), *beside]
    )


def _task_facts(task: Task, say: Callable[[str], str]) -> dict[str, str]:
    if not isinstance(task, OwnFiles):
        return {"task": md(f"{say(SUITES[SUITE_OF[task.name]].title)}: {say(task.title)}")}
    row = task.row
    files = [f"{split}: {pinned_name(name) or Path(name).name}" for split, name in row.places.items() if name]
    if not isinstance(row.dev, str):
        files.append(say(Message("dev: {share} of train", share=f"{row.dev:g}")))
    return {
        "task": f"{md(task.title)}: {row.kind}",
        "fields": f"{md(', '.join([*row.text, *row.choices]))} → {md(', '.join(row.label))}",
        "files": md(", ".join(files)),
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
