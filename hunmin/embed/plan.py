"""What is printed of a run of sentence embeddings before it begins."""

from __future__ import annotations

from typing import Any

from hunmin.embed.recipe import EmbedRecipe
from hunmin.embed.stages import base_of
from hunmin.run import judge_all


def dry_run_embed(recipe: EmbedRecipe, *asked: str | None) -> dict[str, Any]:
    """Return {"out", "stages": what would run and why, "tuning": rows, batches and steps}; `asked` are `--from`,
    `--until`, `--restart`.

    Raises:
        UserError: data or base do not fit.
    """
    from embed.base import read_base
    from embed.batches import epoch_batches
    from embed.data import load_sets

    rows = [{"stage": one.stage.name, "runs": not one.done, "why": one.why} for one in judge_all(recipe, *asked)]
    settings = recipe.embed
    read_base(base_of(recipe), settings)
    sets = load_sets(settings)
    steps = settings.steps or settings.epochs * sum(epoch_batches(one, settings.batch) for one in sets)
    return {"out": recipe.out, "stages": rows, "tuning": {"rows": {one.name: len(one.texts) for one in sets},
                                                         "batch": settings.batch, "steps": steps}}  # fmt: skip
