"""Korean hate speech: is a comment hateful, offensive or neither; macro F1."""

from __future__ import annotations

from typing import ClassVar

from klue.tasks.koelectra.common import koelectra_values
from klue.tasks.table import LabelTable


class HateSpeech(LabelTable):
    """Comments on news. The comment alone is read, without the headline; test labels are not public."""

    name = "hate-speech"
    key = "hate_speech"
    title = "Hate speech"
    folder = "hate_speech"
    files = ("train.tsv", "val.tsv", "")
    sizes = (7896, 471, 0)
    labels = ("hate", "none", "offensive")
    text_columns = ("comment",)
    label_column = "hate"
    metrics: ClassVar[dict[str, str]] = {"macro_f1": "macro F1"}
    extra_metrics: ClassVar[dict[str, str]] = {"accuracy": "accuracy"}
    authors = koelectra_values()
