"""The plan of a recipe of sentence embeddings: stages that would run, and the cost of tuning."""

from __future__ import annotations

from typing import Any

from embed.data import load_sets, refuse_small_sets
from hunmin.embed.recipe import EmbedRecipe
from hunmin.embed.stages import check_models
from hunmin.pipeline.run import judge_all


def dry_run_embed(recipe: EmbedRecipe, *asked: str | None) -> dict[str, Any]:
    """Return {"out", "stages": what would run and why, "tuning": rows, batches and steps}; `asked` are `--from`,
    `--until`, `--restart`.

    Raises:
        UserError: data or base do not fit.
    """
    from embed.batches import epoch_batches

    rows = [{"stage": each.stage.name, "runs": not each.done, "why": each.why} for each in judge_all(recipe, *asked)]
    check_models(recipe)
    sets, batch = load_sets(recipe.embed), recipe.embed.batch
    refuse_small_sets(sets, batch)
    steps = recipe.embed.steps or recipe.embed.epochs * sum(epoch_batches(each, batch) for each in sets)
    tuning = {"rows": {each.name: len(each.texts) for each in sets}, "batch": batch, "steps": steps}
    return {"out": recipe.out, "stages": rows, "tuning": tuning}
