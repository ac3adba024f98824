"""A fine-tuning that has learned nothing: its model gives the same answer to every example."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from common.message import Message
from klue.results import TITLES
from klue.tasks import TASKS

BASELINE = "random"
"""The initialisation that others are compared with."""
DIGITS = 4
"""Of scores between 0 and 5: differences below them are of rounding."""
COLLAPSED = (
    "{whose}, {init}: {which} one label for every example, so that the score says nothing of the model; raise epochs "
    "or the learning rate."
)


def one_answer(predictions: Sequence[Any], gold: Sequence[Any]) -> str | None:
    """Return the answer of a model that has one for all examples (of taggers: one tag for all), as text.

    Args:
        predictions: of the examples: labels, scores, texts, or lists of tags.
        gold: the right ones; where they are all alike, so may be the model's.

    Returns:
        None where there are several answers, or they are none that can be compared.
    """
    given = set(_parts(predictions))
    return str(given.pop()) if len(given) == 1 and len(set(_parts(gold))) > 1 else None


def _parts(answers: Iterable[Any]) -> Iterable[Any]:
    for answer in answers:
        if isinstance(answer, (list, tuple)):
            yield from _parts(answer)
        elif isinstance(answer, float):
            yield round(answer, DIGITS)
        else:
            yield answer if isinstance(answer, (str, int)) else repr(answer)


def told(summary: Iterable[dict[str, Any]]) -> list[str]:
    """Return a sentence for each task of a summary of which fine-tunings have one answer, with the model where there
    are several; one sentence for all that start from random weights, where nothing is to be fixed.
    """
    entries = list(summary)
    several = len({entry.get("model") for entry in entries}) > 1
    sentences: list[str] = []
    baselines = []
    for entry in entries:
        count, all_of_them, task = entry.get("collapsed", 0), entry["n"], TASKS[entry["task"]].title
        whose = Message("{task}, {model}", task=task, model=entry["model"]) if several else task
        if count and entry["init"] == BASELINE:
            baselines.append(Message("{whose} {count}/{all}", whose=whose, count=count, all=all_of_them))
        elif count:
            part = Message("{count} of {all} fine-tunings predict", count=count, all=all_of_them)
            which = part if all_of_them > 1 else "the fine-tuning predicts"
            sentences.append(Message(COLLAPSED, whose=whose, init=TITLES[entry["init"]], which=which))
    if baselines:
        listed = Message("{tasks:; }" if several else "{tasks}", tasks=baselines)
        text = "Fine-tunings from random weights that predict one label for every example: {tasks}."
        sentences.append(Message(text, tasks=listed))
    return sentences
