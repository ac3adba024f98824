"""Recipes of every kind, read from their files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from common.errors import UserError
from common.settings import under
from hunmin.embed.recipe import EmbedRecipe, WithEmbed, read_embed_recipe
from hunmin.instruct.recipe import InstructRecipe, read_instruct_recipe
from hunmin.recipes.preflight import refuse_moved
from hunmin.recipes.recipe import Recipe, is_of_embeddings, is_of_instructions, load_recipe, read_recipe


def load_any_recipe(
    path: str | Path, overrides: Sequence[str] = (), fetch: bool = False, section: str | None = None
) -> Recipe | InstructRecipe | EmbedRecipe:
    """Return the recipe in a YAML file, of any kind; for arguments and errors see `load_recipe`."""
    file, written = read_recipe(path)
    if is_of_embeddings(written):
        return read_embed_recipe(written, file, overrides, fetch)
    if is_of_instructions(written):
        return read_instruct_recipe(written, file, overrides, fetch, section)
    return load_recipe(path, overrides, fetch=fetch, section=section)


def load_instruct_recipe(path: str, overrides: Sequence[str] = (), section: str | None = None) -> InstructRecipe:
    """Return the decoder's recipe in a YAML file; for arguments and errors see `load_recipe`."""
    loaded = load_any_recipe(path, overrides, fetch=section != "instruct", section=section)
    refuse_moved(loaded, path, overrides)
    if not isinstance(loaded, InstructRecipe):
        raise UserError(
            f"{path} has no section 'instruct'",
            "a decoder's recipe has instruct and tune instead of corpus",
            "see configs/kit19-polyglot-1.3b.yaml",
        )
    return loaded


def load_embed_recipe(path: str, overrides: Sequence[str] = (), fetch: bool = True) -> WithEmbed:
    """Return the recipe in a YAML file that has a section `embed`; for arguments and errors see `load_recipe`."""
    keys = under(overrides, "embed", [*Recipe.model_fields])
    loaded = load_any_recipe(path, keys, fetch=fetch)
    refuse_moved(loaded, path, overrides)
    if not isinstance(loaded, (Recipe, EmbedRecipe)) or loaded.embed is None:
        raise UserError(f"{path} has no section 'embed'", fix="see configs/embed-small.yaml")
    return loaded
