"""The section `embed`: a stage after the export of an encoder's recipe, or a recipe of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from common.errors import UserError
from hunmin.embed.recipe import EmbedRecipe
from hunmin.main import run_command
from hunmin.pipeline.stages import STAGES, stages_of
from hunmin.recipes.load import load_any_recipe, load_embed_recipe
from hunmin.recipes.recipe import Recipe, load_recipe

CONFIGS = Path(__file__).parents[3] / "configs"
SECTION = {"data": [{"use": "korsts"}], "score": ["KorSTS"]}


def test_a_stage_after_export(tmp_path: Path) -> None:
    tree = {"name": "x", "out": str(tmp_path / "x"), "corpus": {"inputs": ["a.txt"]}, "klue": {"data": "klue"}}
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(tree), encoding="utf-8")
    assert stages_of(load_recipe(path)) == STAGES
    path.write_text(yaml.safe_dump({**tree, "seed": 7, "embed": {**SECTION, "sources": ["more"]}}), encoding="utf-8")
    recipe = load_recipe(path)
    names = [stage.name for stage in stages_of(recipe)]
    assert names == ["corpus", "tokenizer", "encode", "pretrain", "export", "embed", "klue", "report"]
    assert recipe.embed and recipe.embed.seed == 7 and recipe.embed.base is None
    assert recipe.corpus.decontaminate.benchmark == ["klue", "more"]  # what is scored is taken out of the corpus
    path.write_text(yaml.safe_dump({**tree, "embed": SECTION}), encoding="utf-8")
    assert load_recipe(path).embed.sources == ("klue",)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["embed-small", "embed-roberta-base"])
def test_recipes_that_come_with_it(name: str) -> None:
    path = str(CONFIGS / f"{name}.yaml")
    recipe = load_any_recipe(path, ["embed.base=somewhere"])
    assert isinstance(recipe, EmbedRecipe) and (recipe.name, recipe.out) == (name, f"runs/{name}")
    assert [stage.name for stage in stages_of(recipe)] == ["embed"]
    with pytest.raises(UserError, match=r"names no encoder[^:]*\n[^:]*: .*\n.*embed.base"):
        load_any_recipe(path)


def test_other_recipes_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="has no section 'embed'"):
        load_embed_recipe(str(CONFIGS / "quickstart.yaml"))
    assert isinstance(load_recipe(CONFIGS / "quickstart.yaml"), Recipe)
    messages = {
        ("embed-small.yaml", "embed.base=x"): "sentence embeddings embed/model",
        ("quickstart-instruct.yaml",): "instruction tuning tune/model",
    }
    for (name, *overrides), words in messages.items():
        assert run_command(["pretrain", str(CONFIGS / name), *overrides]) == 2
        kind, _, folder = words.rpartition(" ")
        said = " ".join(capsys.readouterr().err.split())
        assert f"is a recipe of {kind}" in said and f"name the folder {folder} of its run" in said


def test_processes_of_a_launcher_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MASTER_ADDR", "n0")
    monkeypatch.setenv("MASTER_PORT", "29500")
    for name, value in {
        "RANK": "1",
        "LOCAL_RANK": "1",
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
    }.items():  # as torchrun sets them
        monkeypatch.setenv(name, value)
    assert run_command(["embed", "train", "embed-small", "embed.sources=[klue]", "embed.base=base"]) == 2
    assert "set embed.processes=2" in " ".join(capsys.readouterr().err.split())
