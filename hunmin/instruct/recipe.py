"""The recipe of a decoder: instructions, tuning, scores, as one validated file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.settings import apply_overrides, parse_settings, under
from data.instruct.settings import InstructSettings
from hunmin.recipes.pins import pin_names
from hunmin.recipes.recipe import CommitSettings, RunSettings
from leaderboard.settings import LeaderboardSettings
from pretrain.tuning.settings import TuneSettings


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


def read_instruct_recipe(
    written: dict[str, Any], file: Path, overrides: Sequence[str], fetch: bool, section: str | None
) -> InstructRecipe:
    """Return the decoder's recipe in what is written in a file; for arguments and errors see `load_recipe`."""
    tree = apply_overrides(written, under(overrides, section, InstructRecipe.model_fields) if section else overrides)
    for name in ("instruct", "tune"):
        if isinstance(part := tree.get(name), dict):
            part.setdefault("seed", tree.get("seed", 42))
    pin_names(tree, file, fetch)
    return parse_settings(InstructRecipe, tree, str(file))
