"""KoBEST WiC: has a word one sense in two sentences; macro F1."""

from __future__ import annotations

from klue.tasks.kobest.common import KobestTask, own_values


class Wic(KobestTask):
    """Words in context; the word stands in square brackets in both sentences, which the model reads."""

    name = "kobest-wic"
    key = "wic"
    title = "WiC"
    folder = "WiC"
    sizes = (3318, 610, 1260)
    labels = ("False", "True")
    unlabelled_fields = "SENTENCE1, SENTENCE2, each with the word in [ ]"
    text_columns = ("SENTENCE1", "SENTENCE2")
    label_column = "ANSWER"
    authors = own_values(128)
