"""What a recipe is expected to take: by device, stage of ZeRO, layers computed again and checkpoints kept."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from common.errors import UserError
from hunmin import plan
from hunmin.recipe import Recipe


def recipe(**pretrain: Any) -> Recipe:
    tree = {"name": "t", "out": "o", "corpus": {"inputs": ["x"]}, "klue": {"data": "y"}}
    return Recipe.model_validate({**tree, "pretrain": {"steps": 1000, **pretrain}})


@pytest.fixture
def h100(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda *_: "NVIDIA H100 80GB HBM3")


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


def test_memory_and_disk_follow_the_settings() -> None:
    def of(devices: int = 8, **pretrain: Any) -> dict[str, Any]:
        return plan.cost_plan(recipe(**pretrain), devices, "H100")

    plain = of()
    weights = plain["parameters"]
    memory = [of(zero_stage=stage)["memory_bytes_per_device"] for stage in range(4)]
    assert [memory[0] - there for there in memory] == [0, 7 * weights, 21 * weights // 2, 14 * weights]
    assert of(gradient_checkpointing=True)["memory_bytes_per_device"] < plain["memory_bytes_per_device"]
    kept = of(checkpoint_every=100, keep_every=100)["disk_bytes"] - plain["disk_bytes"]
    assert kept == 10 * 12 * weights
