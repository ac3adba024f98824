"""FLOP for equal quality: by hand on a line, and intervals that must be exact or must widen."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pretrain.compare.speed_up import Measured, SpeedUp, flops_at, speed_ups

BYTES = np.full(50, 10)


def model(name: str, steps: int, flops: float, bits: float, noise: float = 0.0, seed: int = 0) -> Measured:
    """A model whose sentences take `bits` per byte, each a little more or less."""
    drawn = np.random.default_rng(seed).normal(0, noise, len(BYTES))
    return Measured(name, steps, flops, BYTES * bits + drawn - drawn.mean())


@pytest.mark.parametrize(
    ("quality", "needed"),
    [(2.0, 1e12), (1.0, 1e13), (1.5, 10**12.5), (1.25, 10**12.75), (0.9, None), (2.1, None)],
)
def test_flop_at_a_quality(quality: float, needed: float | None) -> None:
    for flops, bits in (([1e12, 1e13], [2.0, 1.0]), ([1e13, 1e12], [1.0, 2.0]), ([1e12, 5e12, 1e13], [2.0, 2.5, 1.0])):
        found = flops_at(flops, bits, quality)
        assert found == (needed and pytest.approx(needed))
    assert flops_at([1e12], [2.0], 2.0) is None


def test_an_arm_that_saves_and_one_that_the_base_does_not_reach() -> None:
    base = [model("base", 10, 1e12, 2.0), model("base", 100, 1e13, 1.0)]
    arms = [model("muon", 10, 1e12, 1.5), model("slow", 100, 1e13, 1.5), model("best", 10, 1e12, 0.5)]
    saved = speed_ups([*base, *arms], BYTES, "base")
    assert saved.keys() == {("muon", 10), ("slow", 100), ("best", 10)}
    assert saved["muon", 10].k == pytest.approx(math.sqrt(10)) and saved["slow", 100].k == pytest.approx(10**-0.5)
    assert saved["best", 10] == SpeedUp(None, None, None)


def test_the_base_under_another_name_saves_nothing_whatever_is_drawn() -> None:
    """Sentences are the same for all runs, so what they add cancels out."""
    budgets = [(10, 1e12, 2.0), (40, 4e12, 1.6), (100, 1e13, 1.0)]
    base = [model("base", *budget, noise=3.0, seed=budget[0]) for budget in budgets]
    [saved] = speed_ups([*base, model("same", 40, 4e12, 1.6, noise=3.0, seed=40)], BYTES, "base").values()
    assert (saved.k, saved.low, saved.high) == pytest.approx((1.0, 1.0, 1.0))


def test_seeds_that_differ_widen_the_interval() -> None:
    base = [model("base", 10, 1e12, 2.0), model("base", 100, 1e13, 1.0)]
    close, apart = (
        [model("arm", 10, 1e12, 1.5 - spread), model("arm", 10, 1e12, 1.5 + spread)] for spread in (0.01, 0.1)
    )
    widths = []
    for seeds in (close, apart):
        [saved] = speed_ups([*base, *seeds], BYTES, "base").values()
        assert saved.k == pytest.approx(math.sqrt(10)) and saved.low is not None and saved.high is not None
        assert saved.low < saved.k < saved.high
        widths.append(saved.high - saved.low)
    assert widths[0] < widths[1] / 5
