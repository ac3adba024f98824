"""The data of the stage `embed` for the page of a run, as read from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from common.results import is_there
from embed.settings import TABLE
from embed.tables import read_graphs, read_table
from pretrain.callbacks.metrics import read_figures


class EmbedFacts(NamedTuple):
    """A run's tuning of sentence embeddings, as far as it has come."""

    losses: list[tuple[int, float]]
    """(step, loss) of each line of the log."""
    scores: dict[str, Any]
    """The table of `embed.score.score_models`; {} before it is there."""
    graphs: dict[str, Any]
    """Graph → bytes, sentences a second and smallest cosine; {} without `hunmin export --onnx`."""


def read_embed(folder: Path) -> EmbedFacts:
    """Return the contents of a folder of the stage: `RUN/embed`, or `RUN/embed.partial` while it is under way."""
    rows = read_figures(folder / "logs" / "metrics.jsonl")
    scores = read_table(folder / "scores") if is_there(folder / "scores" / TABLE) else {}
    losses = [(row["step"], row["loss"]) for row in rows if "loss" in row]
    return EmbedFacts(losses, scores, read_graphs(folder / "model"))
