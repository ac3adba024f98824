"""KoBEST BoolQ: is what a question asks about a paragraph true; macro F1."""

from __future__ import annotations

from klue.tasks.base import Example
from klue.tasks.kobest.common import KobestTask, own_values
from klue.tasks.table import true_or_false


class BoolQ(KobestTask):
    """Yes-or-no questions."""

    name = "kobest-boolq"
    key = "boolq"
    title = "BoolQ"
    folder = "BoolQ"
    train_examples = 3665
    dev_examples = 700
    test_examples = 1404
    labels = ("False", "True")
    text_columns = ("Question", "Text")
    label_column = "Answer"
    authors = own_values(256)

    def label(self, value: str) -> str:
        """Return whether it is so."""
        return true_or_false(value)

    def document(self, example: Example) -> str:
        """Return the paragraph."""
        return example.texts[1]
