"""KorNLI: XNLI in Korean; accuracy."""

from __future__ import annotations

from klue.tasks.koelectra.common import Accuracy, koelectra_values


class KorNli(Accuracy):
    """Natural language inference. Without its machine-translated train set it is learned from KLUE-NLI's."""

    name = "kornli"
    key = "kornli"
    title = "KorNLI"
    folder = "kornli"
    files = ("multinli.train.ko.tsv", "xnli.dev.ko.tsv", "xnli.test.ko.tsv")
    transfer = "klue-nli"
    sizes = (392_702, 2490, 5010)  # the published rows were trained on MultiNLI alone
    labels = ("entailment", "contradiction", "neutral")
    text_columns = ("sentence1", "sentence2")
    label_column = "gold_label"
    authors = koelectra_values(epochs=15, global_batch=64)
