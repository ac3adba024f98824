"""KoBEST WiC: has a word one sense in two sentences; macro F1."""

from __future__ import annotations

from klue.tasks.kobest.common import KobestTask, own_values
from klue.tasks.table import true_or_false


class Wic(KobestTask):
    """Words in context; the word stands in square brackets in both sentences, which the model reads."""

    name = "kobest-wic"
    key = "wic"
    title = "WiC"
    folder = "WiC"
    train_examples = 3318
    dev_examples = 610
    test_examples = 1260
    labels = ("False", "True")
    unlabelled_fields = "SENTENCE1, SENTENCE2, each with the word in [ ]"
    text_columns = ("SENTENCE1", "SENTENCE2")
    label_column = "ANSWER"
    authors = own_values(128)

    def label(self, value: str) -> str:
        """Return whether it has one."""
        return true_or_false(value)
