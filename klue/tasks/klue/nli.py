"""KLUE-NLI: does the premise entail, contradict, or leave open the hypothesis; accuracy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from klue.tasks.base import AuthorsValues, Classification, Example


class Nli(Classification):
    name = "klue-nli"
    key = "nli"
    title = "KLUE-NLI"
    hub_config = "nli"
    sizes = (24_998, 3000, 0)
    folder = "klue-nli-v1.1"
    labels = ("entailment", "contradiction", "neutral")
    text_columns = ("premise", "hypothesis")
    metrics: ClassVar[dict[str, str]] = {"accuracy": "accuracy"}
    authors = AuthorsValues(epochs=5, patience=5, large={"warmup_share": 0.2})

    def read(self, record: Any, guid: str) -> Iterable[Example]:
        """Return premise and hypothesis with the gold label, which the hub's copy calls `label`."""
        return super().read(record if "label" in record else {**record, "label": record["gold_label"]}, guid)
