"""Question pair: do two questions to a chatbot mean the same; accuracy."""

from __future__ import annotations

from typing import Any, ClassVar

from klue.tasks.base import Example, one_of, text_field
from klue.tasks.koelectra.common import Accuracy, koelectra_values


class QuestionPair(Accuracy):
    """Paraphrases of questions; in spite of the column's name, is_duplicate, 0 means that they are."""

    name = "question-pair"
    key = "question_pair"
    title = "Question pair"
    folder = "question_pair"
    files: ClassVar[dict[str, str]] = {"train": "train.tsv", "dev": "dev.tsv", "test": "test.tsv"}
    dev_examples = 682
    test_examples = 758
    labels = ("0", "1")
    unlabelled_fields = "question1, question2"
    authors = koelectra_values()

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return the pair: 0 means the same, 1 does not."""
        label = one_of(text_field(record, "is_duplicate").strip(), self.labels, self.name)
        return [Example(self.named(guid), self._texts(record), label)]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        """Return the pair."""
        return [Example(guid, self._texts(record), self.labels[0])]

    def _texts(self, record: Any) -> tuple[str, ...]:
        return (text_field(record, "question1"), text_field(record, "question2"))
