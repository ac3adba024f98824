"""KorSTS: how similar two sentences are, 0 to 5; Spearman's rank correlation."""

from __future__ import annotations

import math
from typing import ClassVar

from klue.tasks.base import Regression
from klue.tasks.koelectra.common import koelectra_values
from klue.tasks.table import Table


class KorSts(Table, Regression):
    name = "korsts"
    key = "korsts"
    title = "KorSTS"
    folder = "korsts"
    files = ("sts-train.tsv", "sts-dev.tsv", "sts-test.tsv")
    sizes = (5749, 1500, 1379)
    text_columns = ("sentence1", "sentence2")
    label_column = "score"
    metrics: ClassVar[dict[str, str]] = {"spearmanr": "Spearman"}
    extra_metrics: ClassVar[dict[str, str]] = {"pearsonr": "Pearson r"}
    authors = koelectra_values()

    def label(self, value: str) -> float:
        rating = float(value)
        if not math.isfinite(rating):
            raise ValueError(f"score {value!r} is not a finite number")
        return rating
