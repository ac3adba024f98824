"""KLUE-STS: how similar two sentences are, 0 to 5; Pearson's r and the F1 of "3.0 or more"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from klue.metrics.sentence import pearsonr, similarity_f1
from klue.tasks.base import AuthorsValues, Regression
from klue.tasks.fields import finite


class Sts(Regression):
    """Semantic textual similarity, as regression on the annotators' mean. Without its train set it is learned from
    KorSTS's, where that is at hand: the ratings mean the same."""

    name = "klue-sts"
    key = "sts"
    title = "KLUE-STS"
    hub_config = "sts"
    sizes = (11_668, 519, 0)
    folder = "klue-sts-v1.1"
    transfer = "korsts"
    text_columns = ("sentence1", "sentence2")
    label_column = "labels"
    any_label: ClassVar[Any] = {"real-label": 0.0}
    metrics: ClassVar[dict[str, str]] = {"pearsonr": "Pearson r", "f1": "F1"}
    authors = AuthorsValues(epochs=4, patience=5, large={"learning_rate": 2e-5})

    def label(self, value: Any) -> float:
        return finite(value["real-label"], self.name)

    def contradiction(self, record: Any) -> str:
        """Return where the rounded rating, or whether it is 3.0 or more, does not fit the rating."""
        ratings = record.get("labels") or {}
        rating = ratings.get("real-label")
        if rating is None:
            return ""
        if "binary-label" in ratings and bool(ratings["binary-label"]) != (rating >= 3):
            return f"real-label is {rating}, binary-label {ratings['binary-label']}"
        if "label" in ratings and abs(ratings["label"] - rating) > 0.0501:
            return f"real-label is {rating}, label {ratings['label']}"
        return ""

    def score(self, gold: Sequence[float], predictions: Sequence[float]) -> dict[str, float]:
        return {"pearsonr": pearsonr(gold, predictions), "f1": similarity_f1(gold, predictions)}
