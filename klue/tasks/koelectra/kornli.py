"""KorNLI: XNLI in Korean; accuracy."""

from __future__ import annotations

from typing import Any, ClassVar

from klue.tasks.base import Example, one_of, text_field
from klue.tasks.koelectra.common import Accuracy, koelectra_values


class KorNli(Accuracy):
    """Natural language inference. Without its machine-translated train set it is learned from KLUE-NLI's."""

    name = "kornli"
    key = "kornli"
    title = "KorNLI"
    folder = "kornli"
    files: ClassVar[dict[str, str]] = {
        "train": "multinli.train.ko.tsv",  # all that the published rows were trained on
        "dev": "xnli.dev.ko.tsv",
        "test": "xnli.test.ko.tsv",
    }
    transfer = "klue-nli"
    dev_examples = 2490
    test_examples = 5010
    labels = ("entailment", "contradiction", "neutral")
    unlabelled_fields = "sentence1, sentence2"
    authors = koelectra_values(epochs=15, batch_size=64)

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return premise and hypothesis."""
        label = one_of(text_field(record, "gold_label").strip(), self.labels, self.name)
        return [Example(self.named(guid), self._texts(record), label)]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        """Return premise and hypothesis."""
        return [Example(guid, self._texts(record), self.labels[0])]

    def _texts(self, record: Any) -> tuple[str, ...]:
        return (text_field(record, "sentence1"), text_field(record, "sentence2"))
