"""The card of a fine-tuned model: task, classes, data, scores, base, how it is loaded (by transformers' pipeline where
that reads the task's texts); no text of the data."""

from __future__ import annotations

import json
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

EXAMPLES = ("오늘 서울에 비가 많이 온다.", "서울은 하루 종일 맑다.")
"""Invented texts; a pair where the task reads two."""
ENTITIES = "세종대왕은 1443년 한양에서 훈민정음을 만들었다."


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


def pipeline_of(task: Task) -> str:
    """Return the pipeline of transformers that reads the task's texts; "" for none: its head is none of the library's,
    or stands on more than plain texts."""
    if task.head == "tokens":
        return "token-classification"
    return "text-classification" if task.head in ("sequence", "labels") and task.text_columns else ""


def usage(task: Task, model: str) -> str:
    """Return Python that loads a saved model (OWNER/NAME or folder) and tries it, or the command that predicts."""
    place = json.dumps(model, ensure_ascii=False)
    if (kind := pipeline_of(task)) == "token-classification":
        lines = [
            f'tag = pipeline("token-classification", model={place}, aggregation_strategy="simple")',
            f'text = "{ENTITIES}"',
            "for entity in tag(text):",
            '    print(entity["entity_group"], text[entity["start"] : entity["end"]], f"{entity[\'score\']:.2f}")',
        ]
    elif kind:
        number = ', function_to_apply="none"' if task.outputs == 1 else ""  # a sigmoid would bend a score
        first, second = EXAMPLES
        example = f'"{first}"' if len(task.text_columns) == 1 else f'{{"text": "{first}", "text_pair": "{second}"}}'
        every = ", top_k=None" if task.head == "labels" else ""
        lines = [
            f'classify = pipeline("text-classification", model={place}{number}{every})',
            f"print(classify({example}))",
        ]
    else:  # a head that the library has not, or no pipeline for
        return f"`hunmin klue predict {model} --in texts.jsonl --out predictions.jsonl`"
    return "\n".join(["```python", "from transformers import pipeline", "", *lines, "```"])
