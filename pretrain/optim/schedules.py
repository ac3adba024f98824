"""Schedules of the learning rate: pure functions of the step."""

from __future__ import annotations

from pretrain.settings import OptimizerSettings


def rate_factor(step: int, steps: int, settings: OptimizerSettings) -> float:
    """Return the factor on the peak learning rate at a step: linear warm-up, then as the schedule says.

    Args:
        step: index of the optimizer step, from 0; step 0 already learns (1 / warmup_steps).
        steps: steps of the whole run.
        settings: warm-up, schedule, and the share of the steps in which it decays.
    """
    warmup = settings.warmup_steps
    if step < warmup:
        return (step + 1) / warmup
    first = warmup
    if settings.schedule == "warmup-stable-decay":
        first = max(warmup, steps - round(settings.decay_share * steps))
    return min(1.0, max(0.0, (steps - step) / max(1, steps - first)))
