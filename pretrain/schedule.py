"""Learning-rate schedule: a pure function of the step."""

from __future__ import annotations


def linear_schedule(step: int, steps: int, warmup_steps: int) -> float:
    """Return the factor on the peak learning rate at a step: linear warm-up, then linear decay to 0.

    Args:
        step: index of the optimizer step, from 0.
        steps: steps of the whole run.
        warmup_steps: steps until the peak; step 0 already learns (1 / warmup_steps).
    """
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    return max(0.0, (steps - step) / max(1, steps - warmup_steps))
