"""What the stage `embed` of a run tells its page, as plain data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embed.settings import MEASURED
from pretrain.callbacks.metrics import read_metrics


@dataclass(frozen=True)
class EmbedFacts:
    """A run's tuning of sentence embeddings, as far as it has come."""

    losses: list[tuple[int, float]]
    """(step, loss) of each line of the log."""
    scores: dict[str, Any]
    """The table of `embed.score.score_models`; {} before it is there."""
    widths: dict[int, dict[str, float]]
    """Entries kept of a vector → task → percent; {} without `matryoshka`."""
    int8: dict[str, Any]
    """Graph → bytes, sentences a second and smallest cosine; {} without `hunmin export --onnx`."""


def read_embed(folder: Path) -> EmbedFacts:
    """Return what a folder of the stage holds.

    Args:
        folder: `RUN/embed`, or `RUN/embed.partial` while it is under way.
    """
    table, measured = _read(folder / "scores" / "table.json"), _read(folder / "model" / MEASURED)
    rows = read_metrics(folder / "logs" / "metrics.jsonl")
    widths = {row["truncate"]: row["scores"] for row in table.get("rows", []) if row["truncate"]}
    return EmbedFacts([(row["step"], row["loss"]) for row in rows if "loss" in row], table, widths, measured)


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes()) if path.is_file() else {}
    return found
