"""Scores and figures of embeddings as files have them, read through the one door for results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from common.errors import UserError
from common.model_files import MEASURED
from common.results import AMOUNT, CORRELATION, DIGEST, PERCENT, Bounds, check_numbers, is_there, read_result
from embed.settings import TABLE

FIX = "move it away: hunmin embed score makes it again, scored tasks are kept"
GRAPHS: dict[str, Bounds] = {"bytes": AMOUNT, "sentences_per_second": AMOUNT, "cosine": (-1, 1)}


def read_table(scores: Path) -> dict[str, Any]:
    """Return the table that `embed.score.score_models` left in a folder; DamagedError where it is damaged or edited."""

    def check(table: dict[str, Any]) -> None:
        named = {task: main_bounds(facts["metric"]) for task, facts in table["tasks"].items()}
        for row in table["rows"]:
            check_numbers(row["scores"], named.__getitem__)
            check_numbers(row.get("index", {}))
        "".join([table["heading"], *(row["model"] for row in table["rows"])])

    path = scores / TABLE
    if not is_there(path) or DIGEST.encode() not in path.read_bytes():
        raise UserError(
            f"{scores} holds no {TABLE} of hunmin embed score",
            "a model's scores lie beside it, or where --scores says",
            f"name the folder of its scores, or move {scores} away",
        )
    return dict(read_result(path, check, FIX, sealed=True))


def index_rows(table: dict[str, Any]) -> list[list[str]]:
    """Return model, task, documents, bytes per document, megabytes, documents per second and milliseconds per query of
    each index that a table of scores holds."""
    return [
        [row["model"], task, f"{index['documents']:,}", f"{index['bytes'] / index['documents']:,.0f}",
         f"{index['bytes'] / 1e6:,.1f}", f"{index['documents'] / index['encode_seconds']:,.0f}",
         f"{1000 * index['search_seconds'] / index['queries']:,.2f}"]
        for row in table["rows"] for task, index in row.get("index", {}).items()
    ]  # fmt: skip


def read_graphs(model: Path) -> dict[str, Any]:
    """Return graph → bytes, hash, sentences a second, smallest cosine; {} for none, DamagedError for an edited file."""
    path = model / MEASURED
    fix = "hunmin export MODEL --onnx measures again"

    def check(graphs: dict[str, Any]) -> None:
        check_numbers([{key: figures[key] for key in GRAPHS} for figures in graphs.values()], GRAPHS.get)
        "".join(figures["sha256"] for figures in graphs.values())

    return dict(read_result(path, check, fix, sealed=True)) if path.is_file() else {}


def main_bounds(metric: str) -> Bounds:
    """Return the bounds of a task's main metric × 100, by its name in mteb."""
    return CORRELATION if metric.endswith(("spearman", "pearson")) else PERCENT


def check_main(metric: str, tree: dict[str, Any]) -> None:
    """Raise one of `common.results.UNFIT` for what is no result of mteb of a task with this main metric."""
    parts = [100 * part["main_score"] for rows in tree["scores"].values() for part in rows]
    check_numbers(parts, name=metric, bounds=main_bounds(metric))
