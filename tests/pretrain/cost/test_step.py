"""The seconds of a step, by hand: 250 M parameters, 1 GB of gradients, four devices in a node."""

from typing import Any

import pytest

from pretrain.cost.communication import Cluster, Link
from pretrain.cost.step import micro_batch_flops, step
from pretrain.settings import PretrainSettings


def of(bandwidth: float, stage: int, engine: str = "deepspeed", devices: int = 4, **changes: Any) -> float:
    cluster = Cluster(devices, 1, Link(bandwidth, 0.0), Link(1.0, 0.0))
    asked = {
        "parameters": 250_000_000,
        "last_ready": 25_000_000,
        "checkpointing": False,
        "bucket": 31_250_000,
        **changes,
    }
    return step(0.3, 4, stage=stage, engine=engine, cluster=cluster, **asked).seconds


def test_averaging_beside_the_backward_pass() -> None:
    # R = 2 · 3/4 · 1 GB / 100 GB/s = 15 ms, of which the last 0.1 GB, 1.5 ms, has nothing beside it
    assert of(1e11, 0, "torch") == pytest.approx(1.2 + 0.0015)
    # at 1 GB/s R = 1.5, r = 0.15: three micro-batches and a forward pass, 1.0; then 1.35 beside 0.2; then 0.15
    assert of(1e9, 0, "torch") == pytest.approx(1.0 + 1.35 + 0.15)
    # layers computed again: three quarters are the backward pass
    assert of(1e9, 0, "torch", checkpointing=True) == pytest.approx(1.2 - 0.225 + 1.5)


def test_gradients_of_two_bytes() -> None:
    # half of R = 1.5 and r = 0.15; weights are gathered in four bytes: G = 0.75
    assert of(1e9, 0, "torch", width=2) == pytest.approx(1.0 + 0.675 + 0.075)
    assert of(1e9, 0, width=2) == pytest.approx(1.2 + 0.75)
    assert of(1e9, 1, width=2) == pytest.approx(1.2 + 0.75 + 0.75)
    assert of(1e9, 2, width=2) == pytest.approx(1.2 + 4 * 0.75 + 0.75)
    # forward 0.1 beside 0.75 of gathering, backward 0.2 beside 0.375 of scattering, four times
    assert of(1e9, 3, width=2) == pytest.approx(4 * (0.75 + 0.375))


def test_the_stages_of_zero() -> None:
    assert of(1e9, 0) == pytest.approx(1.2 + 1.5)
    assert of(1e9, 1) == pytest.approx(1.2 + 1.5 + 0.75)
    assert of(1e9, 2) == pytest.approx(1.2 + 4 * 1.5 + 0.75)
    # forward 0.1 beside 0.75 of gathering, backward 0.2 beside 0.75 of scattering, four times
    assert of(1e9, 3) == pytest.approx(6.0)
    assert of(1e11, 3) == pytest.approx(1.2)
    # of 1 G parameters half are gathered anew: 3 s, and 3 + 1.5 s
    assert of(1e9, 3, parameters=10**9) == pytest.approx(4 * (3 + 4.5))


@pytest.mark.parametrize("stage", range(4))
def test_one_device_waits_for_nobody(stage: int) -> None:
    assert of(1e9, stage, devices=1) == pytest.approx(1.2)


def test_flops_of_a_micro_batch() -> None:
    # 588,880,281.6 a token; computed again a third of 509,607,936 + 56,623,104 more
    stored = PretrainSettings(micro_batch=2)
    assert micro_batch_flops(stored, 32_000) == pytest.approx(1024 * 588_880_281.6)
    again = PretrainSettings(micro_batch=2, gradient_checkpointing=True)
    assert micro_batch_flops(again, 32_000) == pytest.approx(1024 * (588_880_281.6 + 188_743_680))
