"""How a fine-tuned model is tried: its card's lines, by transformers' pipeline where that reads the task's texts."""

from __future__ import annotations

import json

from klue.tasks.base import Task

EXAMPLES = ("오늘 서울에 비가 많이 온다.", "서울은 하루 종일 맑다.")
"""Invented texts; a pair where the task reads two."""
ENTITIES = "세종대왕은 1443년 한양에서 훈민정음을 만들었다."


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
