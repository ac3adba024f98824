"""KoBEST HellaSwag: which of four sentences continues; macro F1."""

from __future__ import annotations

from klue.tasks.base import Example
from klue.tasks.choice import Choice
from klue.tasks.kobest.common import KobestTask, own_values


class HellaSwag(KobestTask, Choice):
    """Choice of the sentence that continues; labels count from 0."""

    name = "kobest-hellaswag"
    key = "hellaswag"
    title = "HellaSwag"
    folder = "HellaSwag"
    sizes = (2029, 500, 500)
    choices = 4
    labels = ("0", "1", "2", "3")
    text_columns = ("context", "choice1", "choice2", "choice3", "choice4")
    authors = own_values(256)

    def pairs(self, example: Example) -> list[tuple[str, str]]:
        context, *choices = example.texts
        return [(context, choice) for choice in choices]
