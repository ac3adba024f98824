"""A run whose recipe has no klue section: everything but scores comes out, and it is said what is left out."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
import yaml
from mini import write_mini

from common.errors import UserError
from common.manifest import read_manifest
from hunmin.hub.card import write_card
from hunmin.hub.facts import read_facts
from hunmin.hub.scrub import public_recipe
from hunmin.main import run_command
from hunmin.pipeline.stages import STAGES, stage_named
from hunmin.pipeline.watch import watch
from hunmin.recipes.recipe import load_recipe

UNDECONTAMINATED = "nothing is decontaminated"


def small_recipe(folder: Path, **more: object) -> Path:
    """Write a recipe of one file of text, without a klue section."""
    (folder / "a.txt").write_text("첫 문장이 여기에 있다. 둘째 문장도 있다.\n", "utf-8")
    corpus = {"inputs": [str(folder / "a.txt")], "pii": {"enabled": False}, "workers": 1}
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump({"name": "bare", "out": str(folder / "run"), "corpus": corpus, **more}), "utf-8")
    return path


def test_corpus_build_needs_no_klue_section(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command(["corpus", "build", str(small_recipe(tmp_path))]) == 0
    assert UNDECONTAMINATED in " ".join(capfd.readouterr().err.split())
    manifest = read_manifest(tmp_path / "run" / "corpus")
    assert manifest and manifest.counts["documents"] == 1


def test_a_section_without_data_says_how_to_run_without_scores(tmp_path: Path) -> None:
    path = small_recipe(tmp_path, klue={"seeds": 3})
    with pytest.raises(UserError, match="klue=null"):
        load_recipe(path)
    assert load_recipe(path, ["klue=null"]).klue is None
    empty = small_recipe(tmp_path, klue=None)
    assert load_recipe(empty, [f"klue.data={tmp_path}"]).klue is not None


def test_the_stage_is_skipped_and_said_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = load_recipe(small_recipe(tmp_path))
    stage = stage_named("klue")
    assert stage.settings(recipe) == {} and stage.inputs(recipe) == []
    assert stage.work(recipe, tmp_path / "run", tmp_path) == {"skipped": True}
    assert "no klue section" in capsys.readouterr().err
    assert "\nklue:" not in public_recipe(recipe)  # without the section, as here


@pytest.mark.parametrize(
    ("more", "said"), [({"klue": {"data": "."}}, "klue=null"), ({"hub": {"repository": "me/m"}}, "hub.repository=null")]
)
def test_a_causal_run_has_neither_scores_nor_an_encoder_to_publish(
    tmp_path: Path, more: dict[str, object], said: str
) -> None:
    path, causal = small_recipe(tmp_path, **more), "pretrain.objective=clm"
    with pytest.raises(UserError, match=said) as raised:
        load_recipe(path, [causal])
    assert "leaves no encoder" in str(raised.value) and "pretrain.phases" in str(raised.value)
    assert load_recipe(path, [causal, said]).pretrain.objective == "clm"
    phases = "pretrain.phases=[{{objective: {}, steps: 9}}, {{objective: {}, steps: 11}}]"
    two = load_recipe(path, ["pretrain.steps=20", "pretrain.optimizer.warmup_steps=2", phases.format("clm", "mlm")])
    assert two.pretrain.objectives == ("mlm", "clm")
    with pytest.raises(UserError, match="leaves no encoder"):
        load_recipe(path, ["pretrain.steps=20", "pretrain.optimizer.warmup_steps=2", phases.format("mlm", "clm")])


def test_plans_warn_beforehand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(small_recipe(tmp_path))
    assert run_command(["run", path, "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert any(UNDECONTAMINATED in warning for warning in plan["warnings"])
    assert not (tmp_path / "run").exists()
    assert {row["stage"]: row["why"] for row in plan["stages"]}["klue"] == "skipped: the recipe has no klue section"
    assert run_command(["plan", path, "--device", "A100", "--json"]) == 0
    assert UNDECONTAMINATED in " ".join(json.loads(capsys.readouterr().out)["notes"])


def test_checkpoints_cannot_be_scored(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    small_recipe(tmp_path).rename(tmp_path / "run" / "recipe.yaml")
    with pytest.raises(UserError, match="no klue section"):
        watch(tmp_path / "run", [], once=True, every=1)


@pytest.mark.slow
def test_a_run_goes_on_to_its_report(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    recipe = write_mini(tmp_path, wandb="off")
    tree = yaml.safe_load(recipe.read_text("utf-8"))
    del tree["klue"]
    recipe.write_text(yaml.safe_dump(tree), "utf-8")
    before = os.umask(0o027)
    try:
        assert run_command(["run", str(recipe)]) == 0
    finally:
        os.umask(before)
    printed = capfd.readouterr()
    assert UNDECONTAMINATED in " ".join(printed.err.split()) and "no klue section" in printed.out
    run = tmp_path / "run"
    assert all(read_manifest(run / stage.folder) for stage in STAGES)
    for path in (run, *run.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o750 if path.is_dir() else 0o640), path
    assert json.loads((run / "report" / "report.json").read_bytes())["klue"] == []
    page = (run / "report.html").read_text("utf-8")
    assert (
        "finished: all stages are done" in page and "no klue section" in page and "Nothing was decontaminated" in page
    )
    assert run_command(["report", str(run)]) == 0
    card = write_card(read_facts(run), "me/model")
    assert "This checkpoint has not been scored" in card and "not looked for" in card
    assert run_command(["launch", str(recipe), "--launcher", "slurm", "--dry-run"]) == 0
