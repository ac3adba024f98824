"""The scores of a model card as the hub reads them (`model-index`), with their seeds and their spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from klue.model_index import model_index
from klue.results import shown_scores, summarize


def index_of(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return `model-index` of result rows: each metric's mean, and as its `args`, which the hub keeps beside it, the
    seeds, and the standard deviation over them where there are several.

    Args:
        name: of the model.
        rows: result rows of jobs (results.jsonl).
    """
    index = model_index(name, rows)
    entries = [entry for entry in summarize(rows) if entry["init"] == "pretrained"]
    for entry, result in zip(entries, index["model-index"][0]["results"], strict=True):
        key = ("task", "init", "settings")
        seeds = sorted(row["seed"] for row in rows if all(row[part] == entry[part] for part in key))
        for metric in result["metrics"]:
            sd = shown_scores(entry)[metric["type"]]["sd"]
            metric["args"] = {"seeds": [*seeds], **({} if sd is None else {"standard_deviation": round(sd, 4)})}
    return index
