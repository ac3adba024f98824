"""How a run begins: what its checkpoints say it was computed by, and what has changed since is said."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pretrain import setup
from pretrain.kernels import precision
from pretrain.settings import PretrainSettings


def metadata(tokens: Path, device: str, world: int = 1, **settings: Any) -> dict[str, Any]:
    process: Any = SimpleNamespace(world=world, device=torch.device(device))
    return setup._metadata(PretrainSettings(**settings), tokens, process)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "accelerator", lambda: "cuda")
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: True)
    monkeypatch.setattr(setup, "device_name", lambda device: f"a {device.type}")


def test_what_auto_stands_for_on_the_device_is_noted(tokens: Path, gpu: None) -> None:
    """By the device, outside the fingerprint: a bf16 run once went on as fp32, and nobody was told."""
    noted = metadata(tokens, "cuda")
    assert (noted["dtype"], noted["compile"], noted["engine"]) == ("bf16", True, "torch")
    assert noted["free"]["compile"] is True and noted["free"]["device"] == "a cuda"
    noted = metadata(tokens, "cuda", zero_stage=3)
    assert (noted["compile"], noted["engine"]) == (False, "deepspeed")
    assert metadata(tokens, "cuda", compile=False)["compile"] is False


def test_whatever_may_change_on_the_way_is_said_when_it_has(
    tokens: Path, gpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = metadata(tokens, "cuda")
    assert setup._changes(first, metadata(tokens, "cuda")) == []
    second = metadata(tokens, "cpu", 2, micro_batch=16, spike=3.0, keep_every=5, validate_every=7, wandb="auto")
    assert setup._changes(first, second) == [
        "compile: True → False", "device: a cuda → a cpu", "keep_every: None → 5", "micro_batch: 32 → 16",
        "spike: 2.0 → 3.0", "validate_every: 1000 → 7", "wandb: off → auto", "world: 1 → 2",
    ]  # fmt: skip
    assert first["fingerprint"] == second["fingerprint"]
    assert setup._changes({}, second) == []  # a checkpoint of before these were written
