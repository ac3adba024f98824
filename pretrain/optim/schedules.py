"""Schedules of the learning rate: pure functions of the step."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

from pretrain.settings import OptimizerSettings, PretrainSettings


def learning_rate(step: int, settings: PretrainSettings) -> float:
    """Return the learning rate of a step of a run: the peak of its phase, by the schedule of the whole run."""
    peak = settings.phase_at(step).settings.optimizer.learning_rate
    return peak * rate_factor(step, settings.steps, settings.optimizer)


def rate_factor(step: int, steps: int, settings: OptimizerSettings) -> float:
    """Return the factor on the peak rate at a step: linear warm-up from 1 / warmup_steps, then as the schedule says."""
    warmup = settings.warmup_steps
    if step < warmup:
        return (step + 1) / warmup
    return SCHEDULES[settings.schedule](step, steps, settings)


def linear(step: int, steps: int, settings: OptimizerSettings) -> float:
    """Fall evenly from the warm-up on."""
    return _left(step, settings.warmup_steps, steps)


def stable_then_linear(step: int, steps: int, settings: OptimizerSettings) -> float:
    """Stay at the peak, then fall evenly."""
    return _left(step, _decay_begins(steps, settings), steps)


def stable_then_sqrt(step: int, steps: int, settings: OptimizerSettings) -> float:
    """Stay at the peak, then fall as 1 − √(share of the decay that is done): fast at first, then slowly."""
    return 1.0 - sqrt(1.0 - _left(step, _decay_begins(steps, settings), steps))


SCHEDULES: dict[str, Callable[[int, int, OptimizerSettings], float]] = {
    "linear": linear,
    "warmup-stable-decay": stable_then_linear,
    "warmup-stable-sqrt": stable_then_sqrt,
}
"""Schedule → the factor after the warm-up, of (step, steps, settings)."""


def _decay_begins(steps: int, settings: OptimizerSettings) -> int:
    return max(settings.warmup_steps, steps - round(settings.decay_share * steps))


def _left(step: int, first: int, steps: int) -> float:
    """Return the share of the steps from the first one on that is left at a step; 1 before it."""
    return min(1.0, max(0.0, (steps - step) / max(1, steps - first)))
