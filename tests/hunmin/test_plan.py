"""`hunmin run --dry-run`: the time it expects, and that it refuses what the run refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from common.errors import UserError
from hunmin import plan
from hunmin.cost import cost_plan
from hunmin.recipe import Recipe
from hunmin.run import run


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
