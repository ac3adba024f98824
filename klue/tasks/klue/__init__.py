"""KLUE's eight tasks, in the order of the paper's tables: rows of `rows.yaml`, and a file for one that is code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from klue.tasks.base import Task
from klue.tasks.klue.dp import DependencyParsing
from klue.tasks.klue.mrc import ReadingComprehension
from klue.tasks.klue.ner import Ner
from klue.tasks.klue.relation import RelationExtraction
from klue.tasks.klue.wos import DialogueStates
from klue.tasks.rows import build_task, load_rows


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


ROWS = load_rows(Path(__file__).with_name("rows.yaml"))
KLUE: tuple[Task, ...] = (
    build_task("ynat", ROWS["ynat"]),
    build_task("klue-sts", ROWS["klue-sts"], Rated),
    build_task("klue-nli", ROWS["klue-nli"]),
    Ner(),
    RelationExtraction(),
    DependencyParsing(),
    ReadingComprehension(),
    DialogueStates(),
)
