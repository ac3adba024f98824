"""KorNLI: XNLI in Korean; accuracy."""

from __future__ import annotations

from typing import ClassVar

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
    train_examples = 392_702  # of MultiNLI
    dev_examples = 2490
    test_examples = 5010
    labels = ("entailment", "contradiction", "neutral")
    text_columns = ("sentence1", "sentence2")
    label_column = "gold_label"
    authors = koelectra_values(epochs=15, batch_size=64)
