"""Sentence embeddings on the page: loss of the tuning, scores beside the base, cut vectors, ONNX graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from common.message import from_tree
from embed.tables import index_rows
from hunmin.page.charts import Series, line_chart
from hunmin.page.curves import Curve
from hunmin.page.facts import Facts
from hunmin.page.tables import Table
from hunmin.page.words import Words

SOURCE = "embed/logs/metrics.jsonl"


def view(facts: Facts, words: Words) -> dict[str, Any] | None:
    """Return the values for the section's template; None where the run tunes no embeddings."""
    tuning = facts.embed
    if not (tuning.losses or tuning.scores):
        return None
    steps, losses = zip(*tuning.losses, strict=True) if tuning.losses else ((), ())
    loss = Series(words("training"), Curve(np.array(steps, float), np.array(losses, float)))
    chart = line_chart(words, "embed-loss", "Loss of the embeddings", [loss], "loss", source=SOURCE)
    rows = tuning.scores.get("rows", [])
    messages = tuning.scores.get("messages", {})

    def said(text: str) -> str:
        return words(from_tree(messages.get(text, text)))

    tasks = list(dict.fromkeys(task for row in rows for task in row["scores"]))
    scores = Table(
        words("Scores of the embeddings"),
        [words("model"), *tasks],
        [[said(row["model"]), *(_percent(row["scores"].get(task)) for task in tasks)] for row in rows],
    )
    columns = ("model", "task", "documents", "bytes per document", "megabytes", "documents per second", "ms per query")
    index = Table(
        words("Index of the documents"),
        [words(name) for name in columns],
        [[said(cells[0]), *cells[1:]] for cells in index_rows(tuning.scores)] if rows else [],
    )
    graphs = Table(
        words("ONNX graphs"),
        [words(name) for name in ("graph", "megabytes", "sentences per second", "smallest cosine")],
        [
            [name, f"{graph['bytes'] / 1e6:,.1f}", f"{graph['sentences_per_second']:,}", f"{graph['cosine']:.4f}"]
            for name, graph in tuning.graphs.items()
        ],
    )
    heading = said(tuning.scores.get("heading", ""))
    return {"charts": [chart] if chart else [], "heading": heading, "scores": scores, "index": index, "graphs": graphs}


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"
