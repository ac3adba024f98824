"""A run with all that goes with it: pushes while it trains, its page, and the push of what is finished."""

from __future__ import annotations

from pathlib import Path

from hunmin.clean import told_what_nothing_needs
from hunmin.hub.follow import following
from hunmin.page.page import PAGE, write_page
from hunmin.pipeline.run import run
from hunmin.pipeline.state import Verdict
from hunmin.recipes.recipe import Recipe, RunSettings


def run_whole(
    recipe: RunSettings, first: str | None = None, last: str | None = None, restart: str | None = None
) -> list[Verdict]:
    """Do every unfinished stage, as `run`, and return the verdicts.

    A run of an encoder pushes checkpoints as the recipe's `hub` says. After its report it writes its page and pushes
    the last checkpoint with its scores.

    Raises:
        HunminError, Interrupted: as `run` and `publish_run`.
    """
    folder = Path(recipe.out)
    if not isinstance(recipe, Recipe):
        with told_what_nothing_needs(folder):
            return run(recipe, first, last, restart=restart)
    whole = last in (None, "report")
    with told_what_nothing_needs(folder), following(recipe, folder, last=not whole):
        verdicts = run(recipe, first, last, restart=restart)
    if whole:
        if not (folder / PAGE).exists() or not all(verdict.done for verdict in verdicts):
            write_page(folder)
        if recipe.hub.repository:
            from hunmin.hub.publish_run import publish_run  # brings torch along

            publish_run(recipe, recipe.hub.repository)
    return verdicts
