"""PAWS-X in Korean: do two sentences of the same words mean the same; accuracy."""

from __future__ import annotations

from klue.tasks.koelectra.common import Accuracy, koelectra_values


class PawsX(Accuracy):
    """Paraphrases of the same words: 1 is one. Rows without a translation ("NS", nothing) are scored too."""

    name = "paws-x"
    key = "paws_x"
    title = "PAWS-X"
    folder = "paws_x"
    files = ("translated_train.tsv", "dev_2k.tsv", "test_2k.tsv")
    sizes = (49_000, 2000, 2000)  # 49,401 pairs were translated
    labels = ("0", "1")
    text_columns = ("sentence1", "sentence2")
    authors = koelectra_values(epochs=15, learning_rate=3e-5)
