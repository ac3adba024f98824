"""KoBEST BoolQ: is what a question asks about a paragraph true; macro F1."""

from __future__ import annotations

from typing import Any

from klue.tasks.base import Example, text_field
from klue.tasks.kobest.common import KobestTask, own_values
from klue.tasks.table import true_or_false


class BoolQ(KobestTask):
    """Yes-or-no questions."""

    name = "kobest-boolq"
    key = "boolq"
    title = "BoolQ"
    folder = "BoolQ"
    dev_examples = 700
    test_examples = 1404
    labels = ("False", "True")
    unlabelled_fields = "Text, Question"
    authors = own_values(256)

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return question and paragraph with the answer."""
        texts = (text_field(record, "Question"), text_field(record, "Text"))
        return [Example(self.named(guid), texts, true_or_false(text_field(record, "Answer")))]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        """Return question and paragraph."""
        return [Example(guid, (text_field(record, "Question"), text_field(record, "Text")), self.labels[0])]

    def document(self, example: Example) -> str:
        """Return the paragraph."""
        return example.texts[1]
