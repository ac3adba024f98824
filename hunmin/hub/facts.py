"""What a run's folder says of the model: the facts of its card."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.manifest import read_manifest
from common.stage_folders import folder_of
from hunmin.hub.work import Work, work_of
from hunmin.recipe import Recipe, load_recipe, recipe_of
from hunmin.report import contamination
from hunmin.scores import score_rows
from hunmin.watch import training_folder
from pretrain.callbacks.metrics import STARTS, read_metrics


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
    dtype: str
    work: Work


def read_facts(run: Path, checkpoint: dict[str, Any] | None = None) -> Facts:
    """Return the facts of a run that has at least begun to train.

    Args:
        run: run folder.
        checkpoint: metadata of the checkpoint that the facts are of; None: the newest one's.

    Raises:
        UserError: it is no run folder, or has no checkpoint yet.
    """
    from pretrain.callbacks.checkpoint import complete_checkpoints, read_metadata

    recipe = load_recipe(recipe_of(run), [f"out={json.dumps(str(run), ensure_ascii=False)}"])
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
        manifest = read_manifest(folder_of(run, name))
        counts[name] = manifest.counts if manifest else {}
        versions |= manifest.versions if manifest else {}
    statistics, card = folder_of(run, "corpus") / "statistics.json", folder_of(run, "tokenizer") / "README.md"
    others = [kept for _, path in found if (kept := read_metadata(path))]
    return Facts(
        recipe=recipe,
        counts=counts,
        versions=versions,
        statistics=json.loads(statistics.read_bytes()) if statistics.is_file() else {},
        contamination=contamination(folder_of(run, "corpus") / "hits.jsonl"),
        vocabulary=card.read_text(encoding="utf-8") if card.is_file() else "",
        # scores of the end are not those of an earlier checkpoint
        scores=score_rows(run) if counts["klue"] and saved["step"] == counts["pretrain"].get("steps") else [],
        step=saved["step"],
        tokens=saved["tokens"],
        dtype=saved["dtype"],
        work=work_of(
            read_metrics(training / "logs" / "metrics.jsonl"), read_metrics(training / "logs" / STARTS), others, saved
        ),
    )
