"""`hunmin run --dry-run`: the time it expects, and that it refuses what the run refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from common.errors import UserError
from hunmin import plan
from hunmin.cost import cost_plan
from hunmin.main import run_command
from hunmin.recipe import Recipe
from hunmin.run import refuse_as_run, run
from tests.hunmin.house import House


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A recipe of one text file, of whose stages none is done."""
    monkeypatch.setattr("pretrain.cost.peak.measured_rate", lambda device=None: 1e12)
    (tmp_path / "a.jsonl").write_text('{"text": "가나다"}')
    corpus = {"inputs": [str(tmp_path / "a.jsonl")], "pii": {"enabled": False}, "decontaminate": {"enabled": False}}
    return {"name": "t", "out": str(tmp_path / "run"), "corpus": corpus}


def test_processes_share_a_cpu(text: dict[str, Any]) -> None:
    one, four = (Recipe.model_validate({**text, "pretrain": {"processes": n}}) for n in (1, 4))
    expected = [plan.dry_run_plan(recipe, None, None)["stages"][3]["seconds"] for recipe in (one, four)]
    assert expected == [pytest.approx(cost_plan(one)["hours"] * 3600, abs=0.1)] * 2


def test_a_dry_run_refuses_what_the_run_refuses(text: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    four = Recipe.model_validate({**text, "pretrain": {"processes": 4}})
    assert plan.dry_run_plan(four, None, None)["stages"][0]["runs"]
    array = Recipe.model_validate({**text, "corpus": {**text["corpus"], "executor": "slurm-array"}})
    for refused, first, last in ((four, "klue", None), (array, None, None), (array, None, "encode")):
        said = []
        for ask in (plan.dry_run_plan, run):
            with pytest.raises(UserError) as caught:
                ask(refused, first, last)  # type: ignore[operator]
            said.append(str(caught.value))
        assert said[0] == said[1]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(UserError, match="4 processes on a machine with 2 GPUs"):
        plan.dry_run_plan(four, None, None)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (["klue.data=nowhere"], "nothing found at nowhere"),
        (["corpus.executor=slurm-array", "--restart", "corpus", "--until", "corpus"], "in a run of other stages"),
    ],
)
def test_the_command_and_its_dry_run_end_alike(
    changes: list[str], told: str, text: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(text))
    for dry in (["--dry-run"], []):
        assert run_command(["run", str(tmp_path / "recipe.yaml"), *changes, *dry]) == 2
        assert told in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_dry_run_makes_the_check_that_the_first_stage_begins_with(house: House) -> None:
    """A checkpoint to branch from that is not there, say; work that resumes is not checked again."""

    def check(recipe: Recipe, run: Path) -> None:
        raise UserError("no such parent")

    house.go(last="a")
    house.change("b", check=check)
    for ask in (refuse_as_run, run):
        with pytest.raises(UserError, match="no such parent"):
            ask(house.recipe())
    house.change("b", check=lambda recipe, run: None)
    house.stop("b")
    house.change("b", check=check)
    refuse_as_run(house.recipe())
    with pytest.raises(UserError, match="no such parent"):
        refuse_as_run(house.recipe(), restart="b")
