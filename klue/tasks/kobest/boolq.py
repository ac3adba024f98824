"""KoBEST BoolQ: is what a question asks about a paragraph true; macro F1."""

from __future__ import annotations

from klue.tasks.base import Example
from klue.tasks.kobest.common import KobestTask, own_values


class BoolQ(KobestTask):
    name = "kobest-boolq"
    key = "boolq"
    title = "BoolQ"
    folder = "BoolQ"
    sizes = (3665, 700, 1404)
    labels = ("False", "True")
    text_columns = ("Question", "Text")
    label_column = "Answer"
    authors = own_values(256)

    def document(self, example: Example) -> str:
        return example.texts[1]
