"""A fine-tuning that has learned nothing: its model gives the same answer to all or nearly all examples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from common.message import Message
from klue.results import TITLES
from klue.tasks import TASKS

BASELINE = "random"
"""The initialisation that others are compared with."""
DIGITS = 4
"""Decimal places of scores between 0 and 5: smaller differences are of rounding."""
NEARLY_ALL = 0.95
"""Share of the predictions from which one answer is taken for that of a model that has learned nothing."""
SKEWED = 0.8
"""Share of the same answer among the gold ones from which a sound model may give it nearly always."""
COLLAPSED = (
    "{whose}, {init}: {which} one label for {examples}, so that the score says nothing of the model; raise epochs "
    "or the learning rate."
)
BASELINES = "Fine-tunings from random weights that predict one label for every or nearly every example: {tasks}."


def one_answer(predictions: Sequence[Any], gold: Sequence[Any]) -> tuple[str, float] | None:
    """Return the answer (of taggers: tag) of all or nearly all predictions, as text, and its share of them. It is None
    where no answer has `NEARLY_ALL` of the predictions, or this one has `SKEWED` of the gold answers and is not the
    only one given; and where all gold answers are alike, since the model's may be so, too."""
    answers = Counter(_parts(predictions))
    gold_answers = Counter(_parts(gold))
    if not answers or len(gold_answers) < 2:
        return None
    [(answer, count)] = answers.most_common(1)
    share = count / answers.total()
    nearly = share >= NEARLY_ALL and gold_answers[answer] < SKEWED * gold_answers.total()
    return (str(answer), share) if share == 1 or nearly else None


def share_in_words(share: float) -> Message:
    """Return for how many examples an answer with that share of the predictions was given, never rounded up to all."""
    text = f"{math.floor(1000 * share) / 10}%"
    return Message("every example") if share == 1 else Message("{share} of the examples", share=text)


def _parts(answers: Iterable[Any]) -> Iterable[Any]:
    for answer in answers:
        if isinstance(answer, (list, tuple)):
            yield from _parts(answer) if len(answer) else ("",)
        elif isinstance(answer, float):
            yield round(answer, DIGITS)
        else:
            yield answer if isinstance(answer, (str, int)) else repr(answer)


def collapse_sentences(summary: Iterable[dict[str, Any]]) -> list[str]:
    """Return a sentence for each task with collapsed fine-tunings, and one for all baselines, which need no fix."""
    entries = list(summary)
    several = len({entry.get("model") for entry in entries}) > 1
    sentences: list[str] = []
    baselines = []
    for entry in entries:
        count = entry.get("collapsed", 0)
        all_of_them = entry["n"]
        task = TASKS[entry["task"]].title
        whose = Message("{task}, {model}", task=task, model=entry["model"]) if several else task
        if count and entry["init"] == BASELINE:
            baselines.append(Message("{whose} {count}/{all}", whose=whose, count=count, all=all_of_them))
        elif count:
            part = Message("{count} of {all} fine-tunings predict", count=count, all=all_of_them)
            which = part if all_of_them > 1 else "the fine-tuning predicts"
            examples = share_in_words(share := entry.get("collapsed_share", 1.0))
            if count > 1 and share < 1:
                examples = Message("at least {examples}", examples=examples)
            sentences.append(
                Message(COLLAPSED, whose=whose, init=TITLES[entry["init"]], which=which, examples=examples)
            )
    if baselines:
        listed = Message("{tasks:; }" if several else "{tasks}", tasks=baselines)
        sentences.append(Message(BASELINES, tasks=listed))
    return sentences
