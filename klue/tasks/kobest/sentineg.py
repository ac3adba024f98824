"""KoBEST SentiNeg: is a review positive, where test sentences are negated ones; macro F1."""

from __future__ import annotations

from typing import Any

from klue.tasks.base import Example, one_of, text_field
from klue.tasks.kobest.common import KobestTask, own_values


class SentiNeg(KobestTask):
    """Sentiment under negation. Columns change place between the splits; the scored text is `Text` in each."""

    name = "kobest-sentineg"
    key = "sentineg"
    title = "SentiNeg"
    folder = "SentiNeg"
    dev_examples = 400
    test_examples = 397
    labels = ("0", "1")
    unlabelled_fields = "Text"
    authors = own_values(128)

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return the review with its sentiment: 1 is positive."""
        label = one_of(text_field(record, "Label").strip(), self.labels, self.name)
        return [Example(self.named(guid), (text_field(record, "Text"),), label)]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        """Return the review."""
        return [Example(guid, (text_field(record, "Text"),), self.labels[0])]
