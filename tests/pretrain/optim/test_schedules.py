"""Schedules by hand, and the two of before as they were."""

from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pretrain.optim.schedules import SCHEDULES, rate_factor
from pretrain.settings import OptimizerSettings


def test_settings_name_the_schedules_that_there_are() -> None:
    assert {*get_args(OptimizerSettings.model_fields["schedule"].annotation)} == SCHEDULES.keys()


def test_the_square_root_falls_fast_and_then_slowly() -> None:
    settings = OptimizerSettings(warmup_steps=10, schedule="warmup-stable-sqrt", decay_share=0.2)
    values = [rate_factor(step, 100, settings) for step in range(100)]
    assert values[:10] == pytest.approx([(n + 1) / 10 for n in range(10)])
    assert values[10:81] == [1.0] * 71  # the decay begins at step 80, with the peak
    # 1 − √(5/20), 1 − √(9.8/20) … of 20 steps: 1 − √(1/20) = 0.776393, 1 − √(1/4), 1 − √(16/20) = 0.105573
    assert [values[at] for at in (81, 85, 96)] == pytest.approx([0.776393, 0.5, 0.105573], abs=1e-6)
    assert values[99] == pytest.approx(0.025321, abs=1e-6) and rate_factor(100, 100, settings) == 0
    linear = [rate_factor(step, 100, settings.model_copy(update={"schedule": "linear"})) for step in range(100)]
    assert all(now < even for now, even in zip(values[81:], [n / 20 for n in range(19, 0, -1)], strict=True))
    assert linear[10] == 1.0 and linear[99] == pytest.approx(1 / 90)
    assert rate_factor(0, 10, OptimizerSettings(warmup_steps=0)) == 1.0


@given(steps=st.integers(1, 300), warmup=st.integers(0, 400), share=st.floats(0.01, 1))
def test_every_schedule_keeps_its_range_and_those_of_before_their_bits(steps: int, warmup: int, share: float) -> None:
    for schedule in SCHEDULES:
        settings = OptimizerSettings(warmup_steps=warmup, schedule=schedule, decay_share=share)  # type: ignore[arg-type]
        values = [rate_factor(step, steps, settings) for step in range(steps)]
        assert all(0 < value <= 1 for value in values)
        assert all(before <= after for before, after in pairwise(values[:warmup]))
        assert all(before >= after for before, after in pairwise(values[warmup:]))
        if schedule == "warmup-stable-sqrt":
            continue
        first = warmup if schedule == "linear" else max(warmup, steps - round(share * steps))
        for step in range(warmup, steps):
            assert values[step] == min(1.0, max(0.0, (steps - step) / max(1, steps - first)))
