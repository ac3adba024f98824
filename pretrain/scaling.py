"""The loss scale: what keeps small gradients from vanishing in fp16."""

from __future__ import annotations

GROWTH_STEPS = 2000
"""Steps in a row without an overflow after which the scale doubles (as in torch.amp.GradScaler)."""


class LossScale:
    """Factor on the loss: halves when a gradient overflows, doubles after so many steps without. Always a power of two.

    Args:
        factor: where it stands; at least 1.
        steps: without an overflow so far.
    """

    def __init__(self, factor: float = 2.0**16, steps: int = 0) -> None:
        self.factor, self.steps = factor, steps

    @property
    def state(self) -> tuple[float, int]:
        """The arguments that make this one again."""
        return self.factor, self.steps

    def update(self, overflow: bool) -> bool:
        """Take note of a step, and return whether the scale is to blame for an overflow: never at its least, 1."""
        self.steps = 0 if overflow else self.steps + 1
        if overflow and self.factor > 1:
            self.factor /= 2
            return True
        if self.steps == GROWTH_STEPS:
            self.factor, self.steps = self.factor * 2, 0
        return False
