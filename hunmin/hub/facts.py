"""What a run's folder says of the model: the facts of its card."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.manifest import read_manifest
from hunmin.recipe import Recipe, load_recipe
from hunmin.report import contamination
from hunmin.watch import training_folder
from klue.report import read_rows
from pretrain.metrics import read_metrics
from pretrain.peak import known_device

WATTS = {
    "V100": 300, "V100-16GB": 300, "A100": 400, "A100-40GB": 400, "H100": 700, "H100 PCIe": 350, "H100 NVL": 400,
    "H200": 700, "H200 NVL": 600, "B200": 1000, "L40S": 350, "RTX 4090": 450,
}  # fmt: skip
"""Board power of GPUs as their makers' data sheets state it, by the names of `pretrain.cost.devices`."""


@dataclass(frozen=True)
class Facts:
    """Of a run, as far as it has come."""

    recipe: Recipe
    counts: dict[str, dict[str, Any]]
    """Stage folder → counts of its manifest; {} where it is not done."""
    versions: dict[str, str]
    statistics: dict[str, Any]
    """Of the corpus: what was read and kept by source, cleaned, dropped, pseudonymised."""
    contamination: dict[str, int]
    """Task → sentences taken out of the corpus for it."""
    vocabulary: str
    """The tokenizer's own card, Markdown, "" without one."""
    scores: list[dict[str, Any]]
    """Result rows of KLUE."""
    step: int
    tokens: int
    """Real tokens trained on, those of a parent run included."""
    device: str
    devices: int
    dtype: str
    hours: float
    """In which steps were taken, without pauses, starts and validation."""
    flops: float

    @property
    def kilowatt_hours(self) -> float | None:
        """Energy of the accelerators at their stated power, None of devices whose power is not known."""
        watts = WATTS.get(known_device(self.device) or "")
        return watts * self.devices * self.hours / 1000 if watts else None


def read_facts(run: Path, checkpoint: dict[str, Any] | None = None) -> Facts:
    """Return the facts of a run that has at least begun to train.

    Args:
        run: run folder.
        checkpoint: metadata of the checkpoint that the facts are of; None: the newest one's.

    Raises:
        UserError: it is no run folder, or has no checkpoint yet.
    """
    from pretrain.checkpoint import complete_checkpoints, read_metadata

    if not (run / "recipe.yaml").is_file():
        raise UserError(f"{run} is no run folder", "a run folder holds recipe.yaml", "give the `out` of a recipe")
    training = training_folder(run)
    found = complete_checkpoints(training / "checkpoints") if training else []
    saved = checkpoint or (read_metadata(found[-1][1]) if found else None)
    if training is None or saved is None:
        raise UserError(
            f"{run} has no checkpoint yet",
            "a card is of a model that has been trained",
            "train first: hunmin run RECIPE",
        )
    counts: dict[str, dict[str, Any]] = {}
    versions: dict[str, str] = {}
    for name in ("corpus", "tokenizer", "tokens", "pretrain", "export", "klue"):
        manifest = read_manifest(run / name)
        counts[name] = manifest.counts if manifest else {}
        versions |= manifest.versions if manifest else {}
    statistics, card = run / "corpus" / "statistics.json", run / "tokenizer" / "README.md"
    hours, flops = _work(read_metrics(training / "logs" / "metrics.jsonl"), saved["step"])
    return Facts(
        recipe=load_recipe(run / "recipe.yaml", [f"out={run}"]),
        counts=counts,
        versions=versions,
        statistics=json.loads(statistics.read_bytes()) if statistics.is_file() else {},
        contamination=contamination(run / "corpus" / "hits.jsonl"),
        vocabulary=card.read_text(encoding="utf-8") if card.is_file() else "",
        # scores of the end are not those of an earlier checkpoint
        scores=read_rows(run / "klue") if counts["klue"] and saved["step"] == counts["pretrain"].get("steps") else [],
        step=saved["step"],
        tokens=saved["tokens"],
        device=saved.get("device", "?"),
        devices=saved["world"],
        dtype=saved["dtype"],
        hours=hours,
        flops=flops,
    )


def _work(metrics: list[dict[str, Any]], step: int) -> tuple[float, float]:
    """Return hours and FLOPs of the steps up to `step`, from the rates of the log's lines."""
    seconds = flops = 0.0
    before = 0
    for row in metrics:
        if row["step"] > step or not row.get("tokens_per_second"):
            continue
        took = (row["tokens"] - before) / row["tokens_per_second"]
        seconds, flops, before = seconds + took, flops + took * row.get("tflops", 0.0) * 1e12, row["tokens"]
    return seconds / 3600, flops
