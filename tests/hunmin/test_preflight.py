"""What a run would refuse is refused beforehand: samples held out of documents that come several times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from common.lock import LOCK
from hunmin.preflight import refuse_moved, refuse_repeated_validation
from hunmin.recipe import load_recipe, save_recipe

RECIPE = Path(__file__).parents[2] / "configs" / "local-small.yaml"


@pytest.mark.parametrize(("mixture", "samples", "refused"), [
    ("{held_out: 0, alpha: 0.5}", 10, True),
    ("{held_out: 0, sources: {a: {epochs: 2}}}", 10, True),
    ("{held_out: 0, sources: {a: {weight: 2}}}", 10, True),
    ("{held_out: 0.01, alpha: 0.5}", 10, False),
    ("{held_out: 0, alpha: 0.5}", 0, False),
    ("{held_out: 0, alpha: 0.5, max_epochs: 1}", 10, False),
    ("{held_out: 0, sources: {a: {max_mb: 5}, b: {epochs: 0.5}}}", 10, False),
    ("null", 10, False),
])  # fmt: skip
def test_held_out_samples_of_a_corpus_that_repeats(mixture: str, samples: int, refused: bool) -> None:
    changes: list[Any] = ["corpus.inputs=[x]", "klue.data=y", f"corpus.mixture={mixture}"]
    recipe = load_recipe(RECIPE, [*changes, f"pretrain.validation_samples={samples}"])
    if refused:
        with pytest.raises(UserError, match=r"set corpus\.mixture\.held_out"):
            refuse_repeated_validation(recipe)
    else:
        refuse_repeated_validation(recipe)


def test_the_recipe_of_a_moved_run_begins_no_other_run(tmp_path: Path) -> None:
    """It names the old place, where the command would begin anew or meet another run."""
    recipe = load_recipe(RECIPE, ["corpus.inputs=[x]", "klue.data=y", f"out={tmp_path / 'old'}"])
    for folder in ("old", "moved", "mine"):
        save_recipe(recipe, tmp_path / folder / "recipe.yaml")
    for folder in ("old", "moved"):
        (tmp_path / folder / LOCK).touch()
    moved = str(tmp_path / "moved" / "recipe.yaml")
    with pytest.raises(UserError, match=f"continue that run with out={tmp_path / 'moved'}"):
        refuse_moved(recipe, moved, ["pretrain.steps=3"])
    refuse_moved(recipe, moved, ["out=elsewhere"])
    for other in (str(tmp_path / "old" / "recipe.yaml"), str(tmp_path / "mine" / "recipe.yaml"), "quickstart"):
        refuse_moved(recipe, other, [])
