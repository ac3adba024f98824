"""KoBEST WiC: has a word one sense in two sentences; macro F1."""

from __future__ import annotations

from typing import Any

from klue.tasks.base import Example, text_field
from klue.tasks.kobest.common import KobestTask, own_values
from klue.tasks.table import true_or_false


class Wic(KobestTask):
    """Words in context; the word stands in square brackets in both sentences, which the model reads."""

    name = "kobest-wic"
    key = "wic"
    title = "WiC"
    folder = "WiC"
    dev_examples = 610
    test_examples = 1260
    labels = ("False", "True")
    unlabelled_fields = "SENTENCE1, SENTENCE2, each with the word in [ ]"
    authors = own_values(128)

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return the two sentences, with whether the word has one sense in them."""
        return [Example(self.named(guid), self._texts(record), true_or_false(text_field(record, "ANSWER")))]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        """Return the two sentences."""
        return [Example(guid, self._texts(record), self.labels[0])]

    def _texts(self, record: Any) -> tuple[str, ...]:
        return (text_field(record, "SENTENCE1"), text_field(record, "SENTENCE2"))
