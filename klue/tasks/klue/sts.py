"""What of KLUE-STS is code: records whose ratings contradict each other are told of."""

from __future__ import annotations

from typing import Any

from klue.tasks.base import Task


class Rated(Task):
    """Similarity with a rating, its rounded value, and whether it is 3.0 or more."""

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
