"""The guard decides on the device which batches update the weights and by how much, so that the host never waits.

A batch is skipped when its loss is not finite, spikes above the running mean, or has a gradient that is not finite; one
in which nothing is predicted, which short texts may give, changes nothing and counts as no fault. In fp16 a gradient
that is not finite halves the loss scale instead of counting against the batch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from common.errors import HunminError
from pretrain.settings import PretrainSettings

AVERAGED = 100
"""Steps over which the running mean of the loss goes, about."""
FIRST_SCALE = 2.0**16
"""Loss scale at the beginning of a run in fp16 (as in torch.amp.GradScaler)."""
GROWTH_STEPS = 2000
"""Steps in a row without an overflow after which the scale doubles (as in torch.amp.GradScaler)."""


class TooManySkippedError(HunminError):
    """More batches were skipped than `pretrain.max_skipped` allows. Exit code 1."""


class Verdict(NamedTuple):
    """The verdict on a step: float32 scalars on the device."""

    divisor: Tensor
    """Divisor of the gradient: the loss scale, and more where it is clipped."""
    skip: Tensor
    """1 when the step must change nothing, else 0."""


class GuardFigures(NamedTuple):
    """The state of a guard on the host."""

    average: float | None
    """Running mean of the loss a predicted token; None before the first accepted batch."""
    scale: float
    """Loss scale, a power of two; 1 but in fp16."""
    clean_steps: int
    """Steps in a row without an overflow."""
    overflows: int
    """Batches skipped for the loss scale alone."""
    faults: int
    """Batches skipped for their own sake."""
    skipped: list[int]
    """Steps of the faults, the first `max_skipped` + 1 of them."""
    last: str
    """Outcome of the last batch: "accepted", "overflow" or "fault"."""
    gradient_norm: float
    """Gradient norm of the last batch, over all weights, before clipping."""


class StepGuard:
    """Judges the steps of a run, one after the other, from a checkpoint's figures (`saved`) on."""

    def __init__(
        self, settings: PretrainSettings, scaled: bool, device: torch.device, saved: dict[str, Any] | None = None
    ) -> None:
        saved = saved or {}
        self._spike = settings.spike
        self._clip = settings.optimizer.max_grad_norm
        self._scaled = scaled

        def number(value: float, dtype: torch.dtype = torch.float64) -> Tensor:
            return torch.full((), value, dtype=dtype, device=device)

        average = saved.get("average")
        self._average = number(float("nan") if average is None else average)
        self.scale = number(saved.get("scale", FIRST_SCALE) if scaled else 1.0, torch.float32)
        """Loss scale."""
        self._clean = number(saved.get("clean_steps", 0))
        self._overflows = number(saved.get("overflows", 0))
        self._faults = number(saved.get("faults", 0))
        self._last, self._norm = number(0), number(0)
        skipped = list(saved.get("skipped", []))[: settings.max_skipped + 1]
        skipped += [-1] * (settings.max_skipped + 1 - len(skipped))
        self._skipped = torch.tensor(skipped, dtype=torch.float64).to(device)
        self._places = torch.arange(len(skipped), dtype=torch.float64, device=device)

    def restart(self) -> None:
        """Forget the running mean: the losses of another objective follow. Nothing waits for the device."""
        self._average = torch.full_like(self._average, float("nan"))

    @torch.no_grad()
    def judge(self, step: int | Tensor, loss: Tensor, norm: Tensor) -> Verdict:
        """Return the verdict on a step, and count it; `loss` is without the loss scale, `norm` with it.

        The step's number is on the device where a number that changes would have a kernel compiled anew.
        """
        norm = norm / self.scale
        empty = (loss == 0) & (norm == 0)
        sound = ~empty & loss.isfinite() & ~(loss > self._spike * self._average)  # no mean yet (NaN): nothing spikes
        accepted = sound & norm.isfinite()
        overflow = sound & ~accepted & (self.scale > 1)
        fault = ~(accepted | overflow | empty)
        divisor = self.scale.clone()
        if self._clip:
            divisor *= ((norm + 1e-6) / self._clip).clamp(min=1)  # as torch.nn.utils.clip_grad_norm_ has it
        moved = torch.where(self._average.isnan(), loss, self._average + (loss - self._average) / AVERAGED)
        self._average = torch.where(accepted & (loss != 0), moved, self._average)
        self._skipped = torch.where(fault & (self._places == self._faults), step, self._skipped)
        self._faults += fault
        self._overflows += overflow
        self._last = 1.0 * overflow + 2.0 * fault
        self._norm = norm.double()
        if self._scaled:
            self._clean = torch.where(accepted, self._clean + 1, torch.where(sound, 0.0, self._clean))
            grows = self._clean >= GROWTH_STEPS
            factor = torch.where(overflow, 0.5, torch.where(grows, 2.0, 1.0))
            self.scale = self.scale * factor
            self._clean = torch.where(grows, 0.0, self._clean)
        return Verdict(divisor.float(), (~accepted).float())

    def figures(self) -> GuardFigures:
        """Return the state; waits for the device."""
        scalars = (self._average, self.scale, self._clean, self._overflows, self._faults, self._last, self._norm)
        packed = torch.cat([torch.stack([value.double() for value in scalars]), self._skipped]).tolist()
        average, scale, clean, overflows, faults, last, norm = packed[: len(scalars)]
        skipped = [int(step) for step in packed[len(scalars) :] if step >= 0]
        mean = None if average != average else average
        outcome = ("accepted", "overflow", "fault")[int(last)]
        return GuardFigures(mean, scale, int(clean), int(overflows), int(faults), skipped, outcome, norm)
