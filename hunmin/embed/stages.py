"""The stage `embed`: an encoder to sentence embeddings, with their scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from common.names import find
from embed.settings import EmbedSettings, require, require_mteb
from hunmin.embed.recipe import EmbedRecipe
from hunmin.recipe import Recipe
from hunmin.stages import Counts, Stage, model_files, section_settings, train_in_processes, write_job


def settings_of(recipe: Recipe | EmbedRecipe) -> EmbedSettings:
    """Return the section `embed` of a recipe that has it."""
    assert recipe.embed is not None
    return recipe.embed


def base_of(recipe: Recipe | EmbedRecipe) -> Path:
    """Return the folder of the encoder that is tuned: the recipe's base, else its run's export."""
    base = settings_of(recipe).base
    return find(base, "model") if base else Path(recipe.out) / "export"


def _files(recipe: Recipe | EmbedRecipe) -> list[str]:
    from embed.sets import set_files

    settings = settings_of(recipe)
    return [*set_files(settings), *model_files(settings.base, "model"), *model_files(settings.guide, "model")]


def _embed(recipe: Recipe | EmbedRecipe, run: Path, out: Path) -> Counts:
    settings = settings_of(recipe)
    require("sentence_transformers", "the stage embed")
    tree = settings.model_dump(mode="json")
    write_job({"settings": tree, "base": str(base_of(recipe)), "name": recipe.name, "out": str(out)}, out)
    several = [str(settings.processes)] if settings.processes > 1 else []
    counts = train_in_processes(["embed.train", *several], out, settings)
    if not settings.score:
        return counts
    from embed.card import write_card
    from embed.save import FACTS
    from embed.score import as_markdown

    table, facts = score_tuned(recipe, out), json.loads((out / "model" / FACTS).read_bytes())
    (out / "model" / "README.md").write_text(write_card(facts, recipe.name, as_markdown(table)), encoding="utf-8")
    return {**counts, "scores": table}


def score_tuned(recipe: Recipe | EmbedRecipe, out: Path) -> dict[str, Any]:
    """Return the table of the tuned model in a stage's folder and of what stands beside it; finished scores are kept.

    Args:
        recipe: the run.
        out: the stage's folder.
    """
    from embed.score import score_models

    settings = settings_of(recipe)
    folders = [Path(source) for source in settings.sources]
    return score_models(
        out / "model", folders, out / "scores", settings.score, base_of(recipe), name=recipe.name,
        widths=settings.matryoshka,
    )  # fmt: skip


def _steps_done(folder: Path) -> str:
    steps = [int(path.name[11:]) for path in folder.glob("checkpoints/checkpoint-*") if path.name[11:].isdigit()]
    return f"{max(steps):,} steps" if steps else "no checkpoint"


def _check(recipe: Recipe | EmbedRecipe, run: Path) -> None:
    """Refuse before unfinished work is moved aside: a wrong row, a base that cannot be tuned, a missing package."""
    from embed.data import load_sets

    settings = settings_of(recipe)
    require("sentence_transformers", "the stage embed")
    if settings.score:
        require_mteb()
    load_sets(settings)


def _stage(kind: type[Recipe] | type[EmbedRecipe], after: tuple[str, ...]) -> Stage:
    return Stage(
        "embed", "embed", after, section_settings("embed"), _embed, _files, keep=True, section="embed", kind=kind,
        packages=("torch", "transformers", "sentence-transformers", "mteb"), extent=_steps_done, check=_check,
    )  # fmt: skip


AFTER_EXPORT = _stage(Recipe, ("export",))
ALONE = _stage(EmbedRecipe, ())
