"""KorSTS: how similar two sentences are, 0 to 5; Spearman's rank correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from klue.metrics import pearsonr, spearmanr
from klue.tasks.base import Example, Regression, text_field
from klue.tasks.koelectra.common import koelectra_values
from klue.tasks.table import Table


class KorSts(Table, Regression):
    """Semantic textual similarity, STS-B in Korean, as regression."""

    name = "korsts"
    key = "korsts"
    title = "KorSTS"
    folder = "korsts"
    files: ClassVar[dict[str, str]] = {"train": "sts-train.tsv", "dev": "sts-dev.tsv", "test": "sts-test.tsv"}
    dev_examples = 1500
    test_examples = 1379
    unlabelled_fields = "sentence1, sentence2"
    metrics: ClassVar[dict[str, str]] = {"spearmanr": "Spearman"}
    extra_metrics: ClassVar[dict[str, str]] = {"pearsonr": "Pearson r"}
    selection = "spearmanr"
    authors = koelectra_values()

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return the pair with its rating."""
        rating = float(text_field(record, "score"))
        if not math.isfinite(rating):
            raise ValueError(f"score {record['score']!r} is not a finite number")
        return [Example(self.named(guid), self._texts(record), rating)]

    def unlabelled(self, record: Any, guid: str) -> list[Example]:
        """Return the pair."""
        return [Example(guid, self._texts(record), 0.0)]

    def _texts(self, record: Any) -> tuple[str, ...]:
        return (text_field(record, "sentence1"), text_field(record, "sentence2"))

    def score(self, gold: Sequence[float], predictions: Sequence[float]) -> dict[str, float]:
        """Return Spearman's rank correlation and Pearson's r."""
        return {"spearmanr": spearmanr(gold, predictions), "pearsonr": pearsonr(gold, predictions)}
