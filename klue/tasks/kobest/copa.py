"""KoBEST COPA: which of two sentences is the cause, or the result, of another; macro F1."""

from __future__ import annotations

from typing import Any

from klue.tasks.base import Example, one_of, text_field
from klue.tasks.choice import Choice
from klue.tasks.kobest.common import KobestTask, own_values

ASKED = ("원인", "결과")
"""What is asked for: cause or result."""


class Copa(KobestTask, Choice):
    """Choice of plausible alternatives."""

    name = "kobest-copa"
    key = "copa"
    title = "COPA"
    folder = "COPA"
    dev_examples = 500
    test_examples = 1000
    choices = 2
    labels = ("1", "2")
    unlabelled_fields = "sentence, question (원인 or 결과), 1, 2"
    authors = own_values(128)

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return the sentence, what is asked for, and the two choices, with the number of the right one."""
        label = one_of(text_field(record, "Answer").strip(), self.labels, self.name)
        return [Example(self.named(guid), self._texts(record), label)]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        """Return the same without a label."""
        return [Example(guid, self._texts(record), self.labels[0])]

    def _texts(self, record: Any) -> tuple[str, ...]:
        asked = one_of(text_field(record, "question").strip(), ASKED, self.name)
        return (text_field(record, "sentence"), asked, text_field(record, "1"), text_field(record, "2"))

    def pairs(self, example: Example) -> list[tuple[str, str]]:
        """Return the sentence with what is asked for behind it, and a choice."""
        sentence, asked, *choices = example.texts
        return [(f"{sentence} {asked}", choice) for choice in choices]
