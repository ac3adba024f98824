"""PAWS-X in Korean: do two sentences of the same words mean the same; accuracy."""

from __future__ import annotations

from typing import Any, ClassVar

from klue.tasks.base import Example, one_of, text_field
from klue.tasks.koelectra.common import Accuracy, koelectra_values


class PawsX(Accuracy):
    """Adversarial paraphrases. Rows whose translation is missing ("NS" or nothing) are scored as they stand."""

    name = "paws-x"
    key = "paws_x"
    title = "PAWS-X"
    folder = "paws_x"
    files: ClassVar[dict[str, str]] = {"train": "translated_train.tsv", "dev": "dev_2k.tsv", "test": "test_2k.tsv"}
    dev_examples = 2000
    test_examples = 2000
    labels = ("0", "1")
    unlabelled_fields = "sentence1, sentence2"
    authors = koelectra_values(epochs=15, learning_rate=3e-5)

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return the pair: 1 is a paraphrase."""
        label = one_of(text_field(record, "label").strip(), self.labels, self.name)
        return [Example(self.named(guid), self._texts(record), label)]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        """Return the pair."""
        return [Example(guid, self._texts(record), self.labels[0])]

    def _texts(self, record: Any) -> tuple[str, ...]:
        return (text_field(record, "sentence1"), text_field(record, "sentence2"))
