"""What a recipe is expected to take: by device, stage of ZeRO, layers computed again and checkpoints kept."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from common.errors import UserError
from hunmin import plan
from hunmin.recipe import Recipe
from hunmin.run import run


def recipe(**pretrain: Any) -> Recipe:
    tree = {"name": "t", "out": "o", "corpus": {"inputs": ["x"]}, "klue": {"data": "y"}}
    return Recipe.model_validate({**tree, "pretrain": {"steps": 1000, "optimizer": {"warmup_steps": 100}, **pretrain}})


@pytest.fixture
def h100(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda *_: "NVIDIA H100 80GB HBM3")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda *_: SimpleNamespace(total_memory=85 * 10**9))


@pytest.mark.usefixtures("h100")
def test_a_machine_with_gpus_is_planned_by_them() -> None:
    here, named = plan.cost_plan(recipe(), 8), plan.cost_plan(recipe(), 8, "H100")
    assert here["hours"] == named["hours"] and "H100" in here["basis"]
    eight = plan._expected_seconds(recipe(processes=8), "pretrain", 0, False)
    assert eight == named["hours"] * 3600


def test_a_cpu_is_measured_and_its_processes_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pretrain.peak.measured_rate", lambda device=None: 1e12)
    seconds = [plan._expected_seconds(recipe(processes=n), "pretrain", 0, False) for n in (1, 4)]
    assert seconds[0] == seconds[1] == plan.cost_plan(recipe())["hours"] * 3600


def test_unknown_devices_are_named() -> None:
    with pytest.raises(UserError, match="unknown device 'H10'"):
        plan.cost_plan(recipe(), 1, "H10")


def test_a_plan_refuses_devices_that_cannot_share_a_batch() -> None:
    bert = {"global_batch": 256, "micro_batch": 64}
    assert plan.cost_plan(recipe(**bert), 4, "H100")["devices"] == 4
    with pytest.raises(UserError, match=r"global_batch \(256\) must be divisible .*\(64 × 8 = 512\); .*micro_batch=32"):
        plan.cost_plan(recipe(**bert), 8, "H100")
    growing = {**bert, "batch_warmup": {"start": 64, "steps": 10}}
    with pytest.raises(UserError, match=r"batch_warmup\.start \(64\) must be divisible .*micro_batch=16"):
        plan.cost_plan(recipe(**growing), 4, "H100")


@pytest.mark.parametrize("micro_batch", [2, 64])
@pytest.mark.parametrize("devices", [2, 3, 8, 12])
def test_what_a_refused_plan_advises_is_accepted(micro_batch: int, devices: int) -> None:
    asked: dict[str, Any] = {"global_batch": 4 * micro_batch, "micro_batch": micro_batch}
    with contextlib.suppress(UserError):
        plan.cost_plan(recipe(**asked), devices, "H100")
        return
    with pytest.raises(UserError) as caught:
        plan.cost_plan(recipe(**asked), devices, "H100")
    name, value = re.findall(r"e\.g\. pretrain\.(\w+)=(\d+)", str(caught.value))[0]
    plan.cost_plan(recipe(**{**asked, name: int(value)}), devices, "H100")


def test_a_plan_refuses_a_model_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing found at"):
        plan.cost_plan(recipe(init_from=str(tmp_path / "gone")), 1, "H100")


@pytest.fixture
def text(tmp_path: Path) -> dict[str, Any]:
    """A recipe of one text file, of whose stages none is done."""
    (tmp_path / "a.jsonl").write_text('{"text": "가나다"}')
    corpus = {"inputs": [str(tmp_path / "a.jsonl")], "pii": {"enabled": False}, "decontaminate": {"enabled": False}}
    (tmp_path / "klue").mkdir()
    (tmp_path / "klue" / "x.json").write_text("{}")
    return {"name": "t", "out": str(tmp_path / "run"), "corpus": corpus, "klue": {"data": str(tmp_path / "klue")}}


def test_a_dry_run_refuses_what_the_run_refuses(text: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pretrain.peak.measured_rate", lambda device=None: 1e12)
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
