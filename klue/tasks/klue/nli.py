"""KLUE-NLI: does the premise entail, contradict, or leave open the hypothesis; accuracy."""

from __future__ import annotations

from typing import Any, ClassVar

from klue.tasks.base import AuthorsValues, Classification, Example
from klue.tasks.fields import one_of, text_field


class Nli(Classification):
    """Natural language inference."""

    name = "klue-nli"
    key = "nli"
    title = "KLUE-NLI"
    hub_config = "nli"
    sizes = (24_998, 3000, 0)
    folder = "klue-nli-v1.1"
    labels = ("entailment", "contradiction", "neutral")
    unlabelled_fields = "premise, hypothesis"
    metrics: ClassVar[dict[str, str]] = {"accuracy": "accuracy"}
    selection = "accuracy"
    authors = AuthorsValues(epochs=5, patience=5, large={"warmup_share": 0.2})

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return premise and hypothesis with the gold label, which the hub's copy calls `label`."""
        pair = (text_field(record, "premise"), text_field(record, "hypothesis"))
        label = record["label" if "label" in record else "gold_label"]
        return [Example(record.get("guid", guid), pair, one_of(label, self.labels, self.name))]
