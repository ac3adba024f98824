"""What a run would refuse is refused beforehand: repeated samples, missing files of tasks, parents and vocabularies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from common.lock import LOCK
from hunmin.recipes.preflight import (
    refuse_moved,
    refuse_no_parent,
    refuse_other_model,
    refuse_repeated_validation,
    refuse_tasks_without_files,
)
from hunmin.recipes.recipe import load_recipe, save_recipe

RECIPE = Path(__file__).parents[3] / "configs" / "local-small.yaml"


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


def test_tasks_without_a_file_are_all_named_before_training(tmp_path: Path) -> None:
    (tmp_path / "klue" / "ynat-v1.1").mkdir(parents=True)
    (tmp_path / "klue" / "ynat-v1.1" / "ynat-v1.1_dev.json").write_text("[]")
    recipe = load_recipe(RECIPE, ["corpus.inputs=[x]", f"klue.data={tmp_path / 'klue'}", "klue.tasks=[ynat, nli, sts]"])
    with pytest.raises(UserError) as refused:
        refuse_tasks_without_files(recipe)
    assert "no dev file of klue-nli in" in refused.value.problem and "nor what klue-sts need" in refused.value.problem
    assert "klue.tasks" in refused.value.fix and "ynat" not in refused.value.problem


def test_a_parent_that_is_not_there_is_told_before_training(tmp_path: Path) -> None:
    overrides = ["corpus.inputs=[x]", "klue.data=y", f"out={tmp_path / 'run'}"]
    refuse_no_parent(load_recipe(RECIPE, overrides))
    with pytest.raises(UserError, match="is no checkpoint"):
        refuse_no_parent(load_recipe(RECIPE, [*overrides, f"pretrain.branch_from={tmp_path / 'step-00000228'}"]))


def test_a_model_to_continue_needs_its_vocabulary(mini_run: Path, tmp_path: Path) -> None:
    export = mini_run / "run" / "export"
    overrides = [f"out={tmp_path / 'new'}", f"pretrain.init_from={export}"]
    with pytest.raises(UserError, match=f"set tokenizer.base={export}"):
        refuse_other_model(load_recipe(mini_run / "recipe.yaml", overrides))
    refuse_other_model(load_recipe(mini_run / "recipe.yaml", [*overrides, f"tokenizer.base={export}"]))
    refuse_other_model(load_recipe(mini_run / "recipe.yaml", overrides[1:]))  # the run's own vocabulary is there
