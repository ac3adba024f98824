"""KoBEST COPA: which of two sentences is the cause, or the result, of another; macro F1."""

from __future__ import annotations

from typing import Any

from klue.tasks.base import Example
from klue.tasks.choice import Choice
from klue.tasks.fields import one_of
from klue.tasks.kobest.common import KobestTask, own_values

ASKED = ("원인", "결과")
"""What is asked for: cause or result."""


class Copa(KobestTask, Choice):
    name = "kobest-copa"
    key = "copa"
    title = "COPA"
    folder = "COPA"
    sizes = (3076, 500, 1000)
    choices = 2
    labels = ("1", "2")
    unlabelled_fields = "sentence, question (원인 or 결과), 1, 2"
    text_columns = ("sentence", "question", "1", "2")
    label_column = "Answer"
    authors = own_values(128)

    def texts(self, record: Any) -> tuple[str, ...]:
        sentence, asked, *choices = super().texts(record)
        return (sentence, one_of(asked.strip(), ASKED, self.name), *choices)

    def pairs(self, example: Example) -> list[tuple[str, str]]:
        sentence, asked, *choices = example.texts
        return [(f"{sentence} {asked}", choice) for choice in choices]
