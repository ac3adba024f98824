"""What the stage `embed` of a run tells its page, as plain data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from embed.settings import MEASURED, TABLE
from leaderboard.result_file import read_result
from pretrain.callbacks.metrics import read_metrics


class EmbedFacts(NamedTuple):
    """A run's tuning of sentence embeddings, as far as it has come."""

    losses: list[tuple[int, float]]
    """(step, loss) of each line of the log."""
    scores: dict[str, Any]
    """The table of `embed.score.score_models`; {} before it is there."""
    graphs: dict[str, Any]
    """Graph → bytes, sentences a second and smallest cosine; {} without `hunmin export --onnx`."""


def read_embed(folder: Path) -> EmbedFacts:
    """Return what a folder of the stage holds: `RUN/embed`, or `RUN/embed.partial` while it is under way."""
    rows = read_metrics(folder / "logs" / "metrics.jsonl")
    table, graphs = folder / "scores" / TABLE, folder / "model" / MEASURED
    scores = read_result(table) if table.is_file() else {}
    measured = json.loads(graphs.read_bytes()) if graphs.is_file() else {}
    return EmbedFacts([(row["step"], row["loss"]) for row in rows if "loss" in row], scores, measured)
