"""What a run's folder says of the model: the facts of its card."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.once import with_lineage
from common.results import is_there, manifest_of, refuse_unfit
from common.settings import load_yaml
from common.stage_folders import MADE, folder_of, run_and_stage
from data.statistics.table import load_statistics
from hunmin.hub.compute_used import ComputeUsed, compute_used
from hunmin.hub.scrub import hub_base
from hunmin.pipeline.report import contamination
from hunmin.pipeline.scores import score_rows
from hunmin.pipeline.watch import training_folder
from hunmin.recipes.preflight import parent_of
from hunmin.recipes.recipe import Recipe, load_recipe, recipe_of
from pretrain.callbacks.checkpoint_metadata import checkpoints_by_size, read_metadata
from pretrain.callbacks.metrics import read_figures, read_starts
from tokenizer.show import show

STAGES = ("corpus", "tokenizer", "tokens", "pretrain", "export", "klue")
"""Folders of the stages that a card tells of."""


@dataclass(frozen=True)
class Parent:
    """The training that a branch (`pretrain.branch_from`) continued."""

    name: str
    """Of its run; of one that is not here any more the name of its folder."""
    step: int
    """After which the branch began."""
    work: ComputeUsed | None
    """Of the steps up to there, those of its own parents included; None where a log of them is not here any more."""
    base: str | None
    """Name on the hub of the published model that the first of these trainings began from, as far as they are here."""


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
    example: str
    """The example sentence of the KLUE paper as the tokenizer cuts it, "" without one."""
    scores: list[dict[str, Any]]
    """Result rows of KLUE."""
    step: int
    tokens: int
    """Real tokens trained on, those of a parent run included."""
    dtype: str
    work: ComputeUsed
    """Of this training alone."""
    parent: Parent | None = None
    averaged: Sequence[int] = ()
    """Steps of the checkpoints whose mean the weights are; none: those of one checkpoint."""


def read_facts(run: Path, checkpoint: dict[str, Any] | None = None, averaged: Sequence[int] | None = None) -> Facts:
    """Return the facts of a run that has at least begun to train.

    Args:
        run: run folder.
        checkpoint: metadata of the checkpoint that the facts are of; None: the newest one's.
        averaged: steps of the checkpoints whose mean the model is; None: as in the run's export.

    Raises:
        UserError: it is no run folder, or has no checkpoint yet.
    """
    recipe = load_recipe(recipe_of(run), [f"out={json.dumps(str(run), ensure_ascii=False)}"])
    training = training_folder(run)
    checkpoints = checkpoints_by_size(training / "checkpoints") if training else []
    saved = checkpoint or (read_metadata(checkpoints[-1][1]) if checkpoints else None)
    if training is None or saved is None:
        raise UserError(
            f"{run} has no checkpoint yet",
            "a card is of a model that has been trained",
            "train first: hunmin run RECIPE",
        )
    counts: dict[str, dict[str, Any]] = {name: {} for name in STAGES}
    versions: dict[str, str] = {}
    folders = _folders(run, training)
    for name, folder in folders.items():
        manifest = manifest_of(folder)
        counts[name] = manifest.counts if manifest else {}
        versions |= manifest.versions if manifest else {}
    tokenizer = folders["tokenizer"]
    at_end = saved["step"] == counts["pretrain"].get("steps")
    exported = counts["export"].get("averaged", [])
    averaged = (exported if at_end else []) if averaged is None else list(averaged)
    return Facts(
        recipe=recipe,
        counts=counts,
        versions=versions,
        statistics=load_statistics(folders["corpus"]) if is_there(folders["corpus"] / "statistics.json") else {},
        contamination=contamination(folders["corpus"] / "hits.jsonl"),
        example=show([tokenizer])[-1]["line"] if (tokenizer / "tokenizer.json").is_file() else "",
        # scores of the end are not those of an earlier checkpoint, nor of another mean
        scores=score_rows(run, recipe.name) if counts["klue"] and at_end and averaged == exported else [],
        step=saved["step"],
        tokens=saved["tokens"],
        dtype=saved["dtype"],
        work=_work(training, saved),
        parent=_parent(saved, run),
        averaged=averaged,
    )


def _folders(run: Path, training: Path) -> dict[str, Path]:
    """Return stage → folder: of those before a training what it was made of, of those after it what was made of it. A
    run of which some stages were done again holds others."""
    folders = {name: folder_of(run, name) for name in STAGES}
    for folder in folders.values():
        manifest_of(folder)  # of one that was edited the lineage says nothing
    if training.parent.name != MADE:
        return folders
    before = {name.partition("-")[0]: folder for name, folder in with_lineage(training).items()}
    after = {
        name: folder
        for name, folder in folders.items()
        if folder.parent.name != MADE or training.name in with_lineage(folder)
    }
    return {**{name: folders[name] for name in ("corpus", "tokenizer")}, **after, **before}


def _work(training: Path, saved: dict[str, Any]) -> ComputeUsed:
    logs = training / "logs"
    checkpoints = checkpoints_by_size(training / "checkpoints")
    there = [metadata for _, path in checkpoints if (metadata := read_metadata(path))]
    work = partial(compute_used, read_figures(logs / "metrics.jsonl"), read_starts(logs), there, saved)
    refuse_unfit(logs / "metrics.jsonl", work, own=False)
    return work()


def _parent(saved: dict[str, Any], run: Path) -> Parent | None:
    """Return the parent of a training, from its checkpoint's metadata; None where it is no branch.

    Of a parent that was moved, replaced or removed since then only its name and the step are known.
    """
    stated = saved.get("parent")
    if not stated:
        return None
    step = int(stated["step"])
    checkpoint = Path(parent_of(stated["checkpoint"], run) or "").absolute()
    training = checkpoint.parent.parent
    home, _ = run_and_stage(training)
    before = read_metadata(checkpoint) if (home / "recipe.yaml").is_file() else None
    if before is None or before["fingerprint"] != stated["fingerprint"]:
        return Parent(home.name, step, None, None)
    recipe = load_yaml(recipe_of(home))
    above = _parent(before, home)
    work: ComputeUsed | None = _work(training, before)
    if above:
        work = work + above.work if work and above.work else None
    base = above.base if above else hub_base(before["settings"].get("init_from") or "")
    return Parent(str(recipe.get("name", home.name)), step, work, base)
