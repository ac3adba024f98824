"""One optimizer step of a run, and its validation loss."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from pretrain.batches.inputs import MicroBatch
from pretrain.batches.loader import Loader
from pretrain.batches.random_numbers import key_of
from pretrain.callbacks.guard import StepGuard
from pretrain.models.encoder import Sums
from pretrain.parallel.engines import Engine

TOTALS = (*Sums._fields, "tokens", "positions")
"""What a step adds up: the model's sums, positions that hold text, and all positions, padding too."""


class StepResult(NamedTuple):
    """What a step did, on the device."""

    totals: Tensor
    """`TOTALS` over all processes, float64; zeros when the batch was skipped."""
    asked: Tensor
    """How many processes were asked to stop, float64."""


class Trainer:
    """Takes steps, and validates.

    Args:
        engine: computes gradients and applies them.
        loader: source of batches.
        guard: judges each step.
    """

    def __init__(self, engine: Engine, loader: Loader, guard: StepGuard) -> None:
        self.engine, self.loader, self.guard, self.settings = engine, loader, guard, loader.settings

    def step(self, step: int, lr: float, micro_batches: list[MicroBatch], asked: bool = False) -> StepResult:
        """Do one optimizer step; the host only hands work to the device and waits for none of it.

        The gradient is that of `objective`, a sum over the global batch divided by constants, so every predicted token
        weighs the same, whatever micro-batch or process it is in. Dropout is drawn from (seed, step, place of the
        micro-batch), so a resumed run repeats nothing and stores no random state.

        Args:
            step: its number.
            lr: learning rate.
            micro_batches: this process's, of the loader.
            asked: whether this process was asked to stop.
        """
        engine, totals = self.engine, torch.zeros(len(TOTALS), dtype=torch.float64, device=self.engine.device)
        host = torch.tensor([step, asked], dtype=torch.float64)
        host = host.pin_memory() if engine.device.type == "cuda" else host
        this_step, vote = host.to(engine.device, non_blocking=True).split(1)
        weight = self.guard.scale / len(micro_batches)  # the engine averages over processes
        for number, batch in enumerate(micro_batches):
            place = number * self.loader.world + self.loader.rank
            torch.manual_seed(key_of(self.settings.seed, 3, step, place) % 2**63)
            inputs = engine.model.on_device(batch.inputs, engine.device)
            loss = partial(objective, batch=batch, weight=weight)
            sums = engine.micro_step(inputs, loss, last=number + 1 == len(micro_batches))
            totals += _count(sums, batch)
        totals = engine.sum(torch.cat([totals, vote]))
        verdict = self.guard.judge(this_step[0], _mean_loss(totals), engine.gradient_norm())
        engine.apply(lr, verdict.divisor, verdict.skip)
        return StepResult(torch.where(verdict.skip > 0, 0.0, totals[:-1]), totals[-1])

    @torch.no_grad()
    def validate(self) -> Tensor:
        """Return `TOTALS` over the held-out samples of all processes; draws no random number."""
        model = self.engine.model.eval()
        totals = torch.zeros(len(TOTALS), dtype=torch.float64, device=self.engine.device)
        for batch in self.loader.validation():
            totals += _count(model(**model.on_device(batch.inputs, self.engine.device)), batch)
        model.train()
        return self.engine.sum(totals)


def objective(sums: Sums, batch: MicroBatch, weight: Tensor | float = 1.0) -> Tensor:
    """Return the loss of a micro-batch: the mean of a predicted token, and beside it that of a pair.

    The first is over as many tokens as such a micro-batch predicts on average, so that it takes no count of all
    processes; BERT adds the two means (Devlin et al. 2019, appendix A.2).

    Args:
        sums: what the model returned.
        batch: the micro-batch.
        weight: of the micro-batch in its step, times the loss scale.
    """
    return (sums.loss / batch.expected + sums.pair_loss / batch.size) * weight


def _mean_loss(totals: Tensor) -> Tensor:
    """Return the loss a predicted token; NaN where that of the pairs is not finite."""
    loss, predicted, pair_loss = (totals[TOTALS.index(name)] for name in ("loss", "predicted", "pair_loss"))
    return torch.where(pair_loss.isfinite(), loss / predicted, math.nan)


def _count(sums: Sums, batch: MicroBatch) -> Tensor:
    """Return a micro-batch's `TOTALS` on the device; nothing waits for it."""
    counts = batch.counts.to(sums.loss.device, non_blocking=True)
    return torch.cat([torch.stack([value.detach().double() for value in sums]), counts])
