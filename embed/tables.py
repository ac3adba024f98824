"""Scores and figures of embeddings as files have them, read through the one door for results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from common.results import CORRELATION, PERCENT, check_number, read_result
from embed.settings import MEASURED, TABLE

REMEDY = "move it away: hunmin embed score makes it again, scored tasks are kept"


def read_table(scores: Path) -> dict[str, Any]:
    """Return the table that `embed.score.score_models` left in a folder; DamagedError where it is damaged or edited."""
    return dict(read_result(scores / TABLE, _check_table, REMEDY, sealed=True))


def read_graphs(model: Path) -> dict[str, Any]:
    """Return graph → bytes, sentences a second and smallest cosine, of a model's folder; {} without graphs.

    Raises:
        DamagedError: the file was edited.
    """
    path, remedy = model / MEASURED, "hunmin export MODEL --onnx measures again"
    return dict(read_result(path, _check_graphs, remedy, sealed=True)) if path.is_file() else {}


def main_range(metric: str) -> tuple[float, float]:
    """Return the lowest and the highest value × 100 of a task's main metric, by its name in mteb."""
    return CORRELATION if metric.endswith(("spearman", "pearson")) else PERCENT


def _check_table(table: dict[str, Any]) -> None:
    heading, messages = table["heading"], table.get("messages", {})
    for text in (heading, *(row["model"] for row in table["rows"])):
        if not isinstance(text, str) or not isinstance(messages, dict):
            raise ValueError(f"{text} is no text")
    for row in table["rows"]:
        for task, value in row["scores"].items():
            if value is not None:
                check_number(f"{task} of {row['model']}", value, main_range(table["tasks"][task]["metric"]))


def _check_graphs(graphs: dict[str, Any]) -> None:
    for name, figures in graphs.items():
        check_number(f"bytes of {name}", figures["bytes"], whole=True)
        check_number(f"sentences per second of {name}", figures["sentences_per_second"])
        check_number(f"cosine of {name}", figures["cosine"], (-1, 1))
