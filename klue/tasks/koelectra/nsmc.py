"""NSMC: is a film review positive; accuracy."""

from __future__ import annotations

from typing import Any, ClassVar

from klue.tasks.base import Example, one_of, text_field
from klue.tasks.koelectra.common import Accuracy, koelectra_values


class Nsmc(Accuracy):
    """Naver sentiment movie corpus: 150,000 train and 50,000 test reviews, no dev set, so a tenth of train is taken.

    The published rows chose the evaluation that was best on test.
    """

    name = "nsmc"
    key = "nsmc"
    title = "NSMC"
    folder = "nsmc"
    suffix = "txt"
    files: ClassVar[dict[str, str]] = {"train": "ratings_train.txt", "test": "ratings_test.txt"}
    dev_share = 0.1
    dev_examples = 0
    test_examples = 50_000
    labels = ("0", "1")
    unlabelled_fields = "document"
    authors = koelectra_values()

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return the review with its polarity: 1 is positive."""
        label = one_of(text_field(record, "label"), self.labels, self.name)
        return [Example(self.named(guid), (text_field(record, "document"),), label)]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        """Return the review."""
        return [Example(guid, (text_field(record, "document"),), self.labels[0])]
