"""A decoder's recipe: what makes one, what is refused, which stages it has and in which order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from safetensors.torch import load_file

from common.errors import UserError
from hunmin.instruct.recipe import InstructRecipe
from hunmin.main import run_command
from hunmin.pipeline.run import selected
from hunmin.pipeline.stages import STAGES, stage_named, stages_of
from hunmin.recipes.load import load_any_recipe, load_instruct_recipe
from hunmin.recipes.recipe import Recipe, load_recipe
from tests.pretrain.tuning.tiny_decoders import write_base

CONFIGS = Path(__file__).parents[3] / "configs"
OURS = sorted(path for path in CONFIGS.glob("*.yaml") if "\ninstruct:" in path.read_text(encoding="utf-8"))
NAMED = ("instruct.data=sets", "leaderboard.data=benchmarks")


def written(folder: Path, **changes: Any) -> Path:
    tree = {
        "name": "t",
        "out": str(folder / "run"),
        "instruct": {"data": "d"},
        "tune": {"base": str(folder)},
        **changes,
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in tree.items() if value is not None}), encoding="utf-8")
    return path


def test_the_seed_goes_to_every_stage(tmp_path: Path) -> None:
    read = load_any_recipe(written(tmp_path, seed=7, instruct={"data": "d", "seed": 3}))
    assert isinstance(read, InstructRecipe)
    assert (read.instruct.seed, read.tune.seed) == (3, 7)


@pytest.mark.parametrize(("changes", "said"), [
    ({"instruct": None}, "'instruct' is missing"),
    ({"tune": None}, "'tune' is missing"),
    ({"instruct": {"data": "d", "per_use": 0}}, "instruct.per_use = 0"),
    ({"instruct": {"dat": "d"}}, "unknown key 'instruct.dat' (did you mean 'data'?)"),
    ({"klue": {"data": "k"}}, "unknown key 'klue'"),
    ({"hub": {"repository": "a/b"}}, "unknown key 'hub.repository'"),
    ({"corpus": {"inputs": ["x"]}}, "unknown key 'instruct'"),
])  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as refused:
        load_any_recipe(written(tmp_path, **changes))
    assert said in str(refused.value)


def test_an_encoders_recipe_is_no_decoders() -> None:
    assert isinstance(load_any_recipe(CONFIGS / "quickstart.yaml"), Recipe)
    with pytest.raises(UserError, match="has no section 'instruct'"):
        load_instruct_recipe(str(CONFIGS / "quickstart.yaml"))


@pytest.mark.parametrize("command", [
    ["plan", "RECIPE"], ["launch", "RECIPE", "--launcher", "slurm"], ["report", "RUN"], ["report", "RUN", "--json"],
    ["corpus", "build", "RECIPE"], ["corpus", "plan", "RECIPE"], ["pretrain", "RECIPE"], ["klue", "watch", "RUN"],
    ["card", "RUN"],
])  # fmt: skip
def test_commands_of_encoders_refuse_it_in_one_sentence(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = written(tmp_path)
    words = [{"RECIPE": str(recipe), "RUN": str(tmp_path)}.get(word, word) for word in command]
    assert run_command(words) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "is a recipe of instruction tuning" in err and "rule:" not in err


def test_stages_in_order(tmp_path: Path) -> None:
    read = load_any_recipe(written(tmp_path))
    names = [stage.name for stage in stages_of(read)]
    assert names == ["instruct", "tune", "leaderboard"]
    assert [stage.name for stage in selected(read, None, "tune")] == names[:2]
    assert stages_of(load_recipe(CONFIGS / "quickstart.yaml")) == STAGES
    for stage in stages_of(read):
        assert set(stage.after) <= set(names[: names.index(stage.name)])
    with pytest.raises(UserError, match=r"unknown stage 'pretrain'[^:]*\n.*instruct → tune → leaderboard"):
        stage_named("pretrain", read)
    with pytest.raises(UserError, match="--from leaderboard comes after --until tune"):
        selected(read, "leaderboard", "tune")


def test_encoders_keep_their_stages_and_their_manifests_settings() -> None:
    """Names, folders and sections as before there were decoders; the tree of settings has no key more."""
    assert [(stage.name, stage.folder, stage.model and stage.model.__name__) for stage in STAGES] == [
        ("corpus", "corpus", "CorpusSettings"), ("tokenizer", "tokenizer", "TokenizerSettings"),
        ("encode", "tokens", "EncodeSettings"), ("pretrain", "pretrain", "PretrainSettings"),
        ("export", "export", "ExportSettings"), ("klue", "klue", "KlueSettings"), ("report", "report", None),
    ]  # fmt: skip
    assert [*Recipe.model_fields] == [
        "name", "out", "seed", "corpus", "tokenizer", "encode", "pretrain", "export", "klue", "embed", "hub",
    ]  # fmt: skip


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_recipes_that_come_with_it(path: Path) -> None:
    read = load_any_recipe(str(path), () if path.stem.startswith("quickstart") else NAMED)
    assert (read.name, read.out) == (path.stem, f"runs/{path.stem}") and read.leaderboard
    assert read.tune.global_batch % read.tune.micro_batch == 0


def test_values_of_kit19s_recipes_say_whose_they_are() -> None:
    """Spec section 1: the paper states the bases and 5,000 rows a use; rate, epochs, batch and schedule are peers'."""
    for name in ("kit19-polyglot-1.3b", "kit19-polyglot-5.8b-lora"):
        read = load_any_recipe(str(CONFIGS / f"{name}.yaml"), NAMED)
        size = name.split("-")[2]
        assert read.tune.base.startswith(f"hf:EleutherAI/polyglot-ko-{size}") and read.instruct.per_use == 5000
        assert (read.tune.epochs, read.tune.global_batch, read.tune.optimizer.schedule) == (2, 256, "linear")
        assert bool(read.tune.lora) == name.endswith("lora")
        text = (CONFIGS / f"{name}.yaml").read_text(encoding="utf-8")
        for line in text.splitlines():
            if line.strip().startswith(("epochs:", "global_batch:", "learning_rate:", "max_seq_len:", "lora:")):
                assert any(whose in line for whose in ("ours", "not the paper's", "theirs")), line
    assert load_any_recipe(str(CONFIGS / "kit19-polyglot-1.3b.yaml"), NAMED).tune.optimizer.learning_rate == 5e-5


def test_a_dry_run_before_anything_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Of a base that is here its memory is known: 4 bytes a weight and gradient, 8 of the moments."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")  # DeepSpeed warns on stdout
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "rows.txt").write_text("x")
    write_base(tmp_path / "base")
    weights = sum(tensor.numel() for tensor in load_file(tmp_path / "base" / "model.safetensors").values())
    changes = ["instruct.data=sets", "tune.base=base", "tune.max_seq_len=16", "tune.dtype=fp32", "leaderboard=null"]
    command = ["run", "quickstart-instruct", *changes, "--dry-run"]
    assert run_command([*command, "--json"]) == 0
    tuning = json.loads(capsys.readouterr().out)["tuning"]
    assert tuning["parameters"] == tuning["trained_parameters"] == weights and "steps" not in tuning
    assert [tuning["bytes"][name] for name in ("weights", "gradients", "optimizer")] == [
        4 * weights, 4 * weights, 8 * weights
    ]  # fmt: skip
    assert run_command(command) == 0
    out = capsys.readouterr().out
    words = (
        "instruct",
        "tune",
        "leaderboard",
        "not done yet",
        "known when",
        f"{weights:,}",
        "memory per device: total",
    )
    assert all(word in out for word in words)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("dry", [["--dry-run"], []])
def test_a_base_and_data_that_do_not_do_are_named_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, dry: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "config.json").write_text("{}")
    changes = ["instruct.data=sets", "leaderboard.data=boards"]
    assert run_command(["run", "quickstart-instruct", *changes, "tune.base=base", *dry]) == 2
    said = capsys.readouterr().err
    assert "nothing found at sets (instruct.data)" in said and "base: config.json does not load" in said
    assert not (tmp_path / "runs").exists()
