"""One optimizer step of a run, and its validation loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from pretrain.engines import Engine
from pretrain.guard import StepGuard
from pretrain.inputs import MicroBatch, prepare
from pretrain.loader import Loader
from pretrain.masking import MaskedBatch
from pretrain.model import Sums
from pretrain.random_numbers import key_of
from pretrain.samples import Batch

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
        end_alone: called in each step before this process first waits for another.
    """

    def __init__(
        self, engine: Engine, loader: Loader, guard: StepGuard, end_alone: Callable[[], None] = lambda: None
    ) -> None:
        self.engine, self.loader, self.guard, self.settings = engine, loader, guard, loader.settings
        self._end_alone = end_alone

    def prepare(self, batch: Batch, masked: MaskedBatch) -> MicroBatch:
        """Return a micro-batch of the loader as `step` takes it.

        Args:
            batch: before masking.
            masked: the same batch, masked.
        """
        model, pin = self.engine.model, self.engine.device.type == "cuda"
        return prepare(batch, masked, self.settings.samples, model.takes_texts, pin, model.one_shape)

    def step(self, step: int, lr: float, micro_batches: list[MicroBatch], asked: bool = False) -> StepResult:
        """Do one optimizer step; the host only hands work to the device and waits for none of it.

        The gradient is that of `objective`, a sum over the global batch divided by constants, so every predicted token
        weighs the same, whatever micro-batch or process it is in. Dropout is drawn from (seed, step, place of the
        micro-batch), so a resumed run repeats nothing and stores no random state.

        Args:
            step: its number.
            lr: learning rate.
            micro_batches: this process's, as `prepare` returns them.
            asked: whether this process was asked to stop.
        """
        engine, totals = self.engine, torch.zeros(len(TOTALS), dtype=torch.float64, device=self.engine.device)
        host = torch.tensor([step, asked], dtype=torch.float64)
        host = host.pin_memory() if engine.device.type == "cuda" else host
        this_step, vote = host.to(engine.device, non_blocking=True).split(1)
        weight = self.guard.scale / len(micro_batches)  # the engine averages over processes
        own = engine.own_forwards(len(micro_batches))
        for number, batch in enumerate(micro_batches):
            place = number * self.loader.world + self.loader.rank
            torch.manual_seed(key_of(self.settings.seed, 3, step, place) % 2**63)

            def loss(sums: Sums, batch: MicroBatch = batch, forwards: int = number + 1) -> Tensor:
                if forwards == own:
                    self._end_alone()
                return objective(sums, batch) * weight

            inputs = engine.model.on_device(batch.inputs, engine.device)
            if own == number == 0:
                self._end_alone()
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
        for masked in self.loader.validation():
            batch = self.prepare(*masked)
            totals += _count(model(**model.on_device(batch.inputs, self.engine.device)), batch)
        model.train()
        return self.engine.sum(totals)


def objective(sums: Sums, batch: MicroBatch) -> Tensor:
    """Return the loss of a micro-batch: the mean of a predicted token, and beside it that of a pair.

    The first is over as many tokens as such a micro-batch predicts on average, so that it takes no count of all
    processes; BERT adds the two means (Devlin et al. 2019, appendix A.2).
    """
    return sums.loss / batch.expected + sums.pair_loss / batch.samples


def _mean_loss(totals: Tensor) -> Tensor:
    """Return the loss a predicted token; NaN where that of the pairs is not finite."""
    loss, predicted, pair_loss = (totals[TOTALS.index(name)] for name in ("loss", "predicted", "pair_loss"))
    return torch.where(pair_loss.isfinite(), loss / predicted, math.nan)


def _count(sums: Sums, batch: MicroBatch) -> Tensor:
    """Return a micro-batch's `TOTALS` on the device; nothing waits for it."""
    counts = batch.counts.to(sums.loss.device, non_blocking=True)
    return torch.cat([torch.stack([value.detach().double() for value in sums]), counts])
