"""KoBEST HellaSwag: which of four sentences goes on; macro F1."""

from __future__ import annotations

from typing import Any

from klue.tasks.base import Example, one_of, text_field
from klue.tasks.choice import Choice
from klue.tasks.kobest.common import KobestTask, own_values


class HellaSwag(KobestTask, Choice):
    """Choice of the sentence that goes on."""

    name = "kobest-hellaswag"
    key = "hellaswag"
    title = "HellaSwag"
    folder = "HellaSwag"
    dev_examples = 500
    test_examples = 500
    choices = 4
    labels = ("0", "1", "2", "3")
    unlabelled_fields = "context, choice1, choice2, choice3, choice4"
    authors = own_values(256)

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return the context and the four choices, with the number of the right one from 0."""
        label = one_of(text_field(record, "label").strip(), self.labels, self.name)
        return [Example(self.named(guid), self._texts(record), label)]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        """Return the same without a label."""
        return [Example(guid, self._texts(record), self.labels[0])]

    def _texts(self, record: Any) -> tuple[str, ...]:
        return (text_field(record, "context"), *(text_field(record, f"choice{number}") for number in (1, 2, 3, 4)))

    def pairs(self, example: Example) -> list[tuple[str, str]]:
        """Return the context and a choice."""
        context, *choices = example.texts
        return [(context, choice) for choice in choices]
