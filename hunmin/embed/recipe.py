"""The recipe of sentence embeddings from a base that is there: one section, one stage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.settings import apply_overrides, parse_settings
from embed.settings import EmbedSettings
from hunmin.recipes.pins import pin_names
from hunmin.recipes.recipe import CommitSettings, Recipe, RunSettings


class EmbedRecipe(RunSettings):
    """A run from a pretrained encoder to sentence embeddings and their scores."""

    embed: EmbedSettings
    """Encoder and data sets to sentence embeddings; `embed.base` names the encoder."""
    hub: CommitSettings = CommitSettings()
    """Commits of names on the model hub. A tuned model is not pushed by the run."""


WithEmbed = Recipe | EmbedRecipe
"""A recipe that may have a section `embed`."""


def read_embed_recipe(written: dict[str, Any], file: Path, overrides: Sequence[str], fetch: bool) -> EmbedRecipe:
    """Return the recipe of embeddings in what is written in a file; for arguments and errors see `load_recipe`."""
    tree = apply_overrides(written, overrides)
    if isinstance(part := tree.get("embed"), dict):
        part.setdefault("seed", tree.get("seed", 42))
    pin_names(tree, file, fetch)
    recipe = parse_settings(EmbedRecipe, tree, str(file))
    if recipe.embed.base is None:
        raise UserError(
            f"{file} names no encoder",
            "without pretraining before it, tuning begins with a model that is there",
            "set embed.base to a folder, a run with an export, or hf:OWNER/NAME@COMMIT",
        )
    return recipe
