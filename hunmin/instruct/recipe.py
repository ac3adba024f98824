"""The recipe of a decoder: instructions, tuning, scores, as one validated file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import UserError
from common.settings import Settings, apply_overrides, parse_settings, runtime, under
from data.instruct.settings import InstructSettings
from hunmin.pins import pin_names
from hunmin.preflight import refuse_moved
from hunmin.recipe import (
    Recipe,
    RunSettings,
    is_of_embeddings,
    is_of_instructions,
    load_recipe,
    read_recipe,
)
from leaderboard.settings import LeaderboardSettings
from pretrain.tuning.settings import TuneSettings

if TYPE_CHECKING:
    from hunmin.embed.recipe import EmbedRecipe


class CommitSettings(Settings):
    """Commits of the names on the hub that a recipe holds."""

    commits: dict[str, str] = runtime({})
    """Commit for each name on the hub in this recipe (OWNER/NAME, OWNER/NAME@REVISION). Hunmin writes it into the run's
    recipe.yaml, so that a resumed run reads the same files; change it to move to another commit."""


class BoardSettings(LeaderboardSettings):
    """Scores of the tuned model, and of its base beside it."""

    base: bool = True
    """Score the base as well, so that the report shows what tuning changed. Set false to halve the time."""


class InstructRecipe(RunSettings):
    """A run from instruction data sets to a tuned decoder and its scores."""

    instruct: InstructSettings
    """Data sets to instructions."""
    tune: TuneSettings
    """Instructions and a base model to a tuned model."""
    leaderboard: BoardSettings | None = None
    """Tuned model to scores. Without it the stage `leaderboard` is skipped, and no test row is looked for among the
    instructions."""
    hub: CommitSettings = CommitSettings()
    """Commits of names on the model hub. A tuned model is not pushed by the run."""


def load_any_recipe(
    path: str | Path, overrides: Sequence[str] = (), fetch: bool = False, section: str | None = None
) -> Recipe | InstructRecipe | EmbedRecipe:
    """Return the recipe in a YAML file, of any kind; for arguments and errors see `load_recipe`."""
    file, written = read_recipe(path)
    if is_of_embeddings(written):
        from hunmin.embed.recipe import read_embed_recipe

        return read_embed_recipe(written, file, overrides, fetch)
    if not is_of_instructions(written):
        return load_recipe(path, overrides, fetch=fetch, section=section)
    tree = apply_overrides(written, under(overrides, section, InstructRecipe.model_fields) if section else overrides)
    for name in ("instruct", "tune"):
        if isinstance(part := tree.get(name), dict):
            part.setdefault("seed", tree.get("seed", 42))
    pin_names(tree, file, fetch)
    return parse_settings(InstructRecipe, tree, str(file))


def load_instruct_recipe(path: str, overrides: Sequence[str] = (), section: str | None = None) -> InstructRecipe:
    """Return the decoder's recipe in a YAML file; for arguments and errors see `load_recipe`."""
    loaded = load_any_recipe(path, overrides, fetch=section != "instruct", section=section)
    refuse_moved(loaded, path, overrides)
    if not isinstance(loaded, InstructRecipe):
        raise UserError(
            f"{path} has no section 'instruct'", "a decoder's recipe has instruct and tune instead of corpus",
            "see configs/kit19-polyglot-1.3b.yaml",
        )  # fmt: skip
    return loaded
