"""One optimizer step of a run, and its validation loss."""

from __future__ import annotations

import math
from typing import Any

import torch

from pretrain.engine import ClippingAdamW
from pretrain.loader import Loader
from pretrain.masking import MaskedBatch
from pretrain.model import Sums
from pretrain.order import key_of
from pretrain.processes import computing_in, resolve_dtype
from pretrain.samples import Batch
from pretrain.scaling import LossScale

TOTALS = (*Sums._fields, "tokens")
"""What a step adds up: the model's sums, and positions that are not padding."""


AVERAGED = 100
"""Steps over which the running mean of the loss goes, about."""


def to_device(batch: Batch, masked: MaskedBatch, samples: str, device: torch.device) -> dict[str, torch.Tensor | None]:
    """Return the model's arguments on the device; lengths are None when nothing is padded.

    Args:
        batch: before masking.
        masked: the same batch, masked.
        samples: their kind.
        device: where the model is.
    """
    arrays: dict[str, Any] = {"ids_BS": masked.ids_BS, "rows_BM": masked.rows_BM, "labels_BM": masked.labels_BM}
    if samples == "packed":
        arrays["texts_BS"] = batch.texts_BS
    elif batch.padded:
        arrays["lengths_B"] = batch.lengths_B
    if samples == "sentence-pairs":
        arrays |= {"texts_BS": batch.texts_BS, "follows_B": batch.follows_B}
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    if device.type != "cuda":
        return tensors
    # from other memory a copy would wait for all that the device still has to do
    return {name: tensor.pin_memory().to(device, non_blocking=True) for name, tensor in tensors.items()}


class Trainer:
    """One optimizer step, and the validation loss.

    Args:
        engine: the DeepSpeed engine.
        loader: source of batches.
        mark: holds `state` as a checkpoint saved it; None at the beginning.
    """

    def __init__(self, engine: Any, loader: Loader, mark: dict[str, Any] | None = None) -> None:
        saved = mark or {}
        self.engine, self.loader, self.settings = engine, loader, loader.settings
        self.gradient_norm = 0.0
        """Norm of the last gradient asked for, before clipping."""
        self.average: float | None = saved.get("average")
        """Running mean of the loss a predicted token."""
        self.scale = LossScale(*saved.get("scaling") or ()) if resolve_dtype(self.settings.dtype) == "fp16" else None
        self.skipped = False
        """Whether the last batch was skipped."""
        self.overflowed = False
        """Whether it was for the loss scale: the next ones are computed with a smaller one."""
        self.skipped_steps: list[int] = saved.get("skipped", [])
        """Batches that were skipped for their own sake."""
        self.overflows = int(saved.get("overflows", 0))
        """Number of those skipped for the loss scale."""

    @property
    def state(self) -> dict[str, Any]:
        """What steps depend on beside the engine's state."""
        scaling = self.scale.state if self.scale else None
        return {
            "average": self.average, "scaling": scaling, "skipped": self.skipped_steps, "overflows": self.overflows
        }  # fmt: skip

    @property
    def skips(self) -> int:
        """Number of batches skipped, for whatever reason."""
        return len(self.skipped_steps) + self.overflows

    def step(
        self, step: int, lr: float, micro_batches: list[tuple[Batch, MaskedBatch]], measure_norm: bool
    ) -> torch.Tensor:
        """Do one optimizer step and return this process's `TOTALS`, float64, on the device; of a skipped batch, zeros.

        The gradient is that of `objective`, a sum over the global batch divided by constants, so every predicted token
        weighs the same, whatever micro-batch or process it is in. Dropout is drawn from (seed, step, place of the
        micro-batch), so a resumed run repeats nothing and stores no random state. A batch without a finite loss and
        gradient, or whose loss leaps up, changes nothing; in fp16 the loss scale alone learns from an overflow.
        """
        optimizer, average = self.engine.basic_optimizer, self.average
        for group in self.engine.optimizer.param_groups:
            group["lr"] = lr
        factor = self._begin_scaling(optimizer)
        accepted = False
        totals = torch.zeros(len(TOTALS), dtype=torch.float64, device=self.engine.device)
        for a, (batch, masked) in enumerate(micro_batches):
            last = a == len(micro_batches) - 1
            self.engine.set_gradient_accumulation_boundary(last)
            place = a * self.loader.world + self.loader.rank
            torch.manual_seed(key_of(self.settings.seed, 3, step, place) % 2**63)
            sums = self.engine(**to_device(batch, masked, self.settings.samples, self.engine.device))
            totals += _totals(sums, batch)
            loss = objective(sums, masked)
            if last:
                accepted = self._accept(totals)
                optimizer.skip = not accepted
                if optimizer.skip:
                    loss = loss * math.nan  # ZeRO has a step of its own, which passes over what is not finite
            # the engine averages over processes; its number of micro-batches is that of the largest batch
            self.engine.backward(loss * factor / len(micro_batches), scale_wrt_gas=False)
            self.engine.step()
        self.skipped = optimizer.skip or bool(getattr(self.engine.optimizer, "overflow", False))
        self.overflowed = accepted and self.scale is not None and self.scale.update(overflow=self.skipped)
        if self.skipped:
            if self.overflowed:
                self.overflows += 1
            else:
                self.skipped_steps.append(step)
            self.average = average
            return torch.zeros_like(totals)
        if measure_norm:
            norm = self.engine.get_global_grad_norm() if self.settings.zero_stage else optimizer.norm
            self.gradient_norm = float(norm or 0.0)
        return totals

    def _begin_scaling(self, optimizer: ClippingAdamW) -> float:
        """Have the loss scale undone at this step, and return what the loss is to be multiplied by."""
        if self.scale is None:
            return 1.0
        if self.settings.zero_stage:
            self.engine.optimizer.override_loss_scale(self.scale.factor)  # it multiplies, too
            return 1.0
        optimizer.loss_scale = self.scale.factor
        return self.scale.factor

    def _accept(self, totals: torch.Tensor) -> bool:
        """Return whether the batch may change the weights, the same on all processes; note its loss if so."""
        sums = totals[[0, 2, 3]].clone()
        if self.loader.world > 1:
            torch.distributed.all_reduce(sums)
        loss = float(sums[0] / sums[1])
        leaps = self.average is not None and loss > self.settings.spike * self.average
        if leaps or not math.isfinite(loss + float(sums[2])):
            return False
        self.average = loss if self.average is None else self.average + (loss - self.average) / AVERAGED
        return True

    @torch.no_grad()
    def validate(self) -> torch.Tensor:
        """Return `TOTALS` over this process's held-out samples; draws no random number."""
        self.engine.eval()
        totals = torch.zeros(len(TOTALS), dtype=torch.float64, device=self.engine.device)
        own = list(self.loader.validation())
        for number in range(self.loader.validation_batches):
            # under ZeRO 3 processes fetch weights together: one that has no batch left computes along
            batch, masked = own[number] if number < len(own) else self.loader.micro_batches(0)[0]
            arguments = to_device(batch, masked, self.settings.samples, self.engine.device)
            with computing_in(self.settings.dtype, self.engine.device):
                found = _totals(self.engine.module(**arguments), batch)
            if number < len(own):
                totals += found
        self.engine.train()
        return totals.cpu()


def objective(sums: Sums, masked: MaskedBatch) -> torch.Tensor:
    """Return the loss of a micro-batch: the mean of a predicted token, and beside it that of a pair.

    The first is over as many tokens as such a micro-batch predicts on average, so that it takes no count of all
    processes; BERT adds the two means (Devlin et al. 2019, appendix A.2).
    """
    return sums.loss / masked.expected + sums.pair_loss / len(masked.ids_BS)


def _totals(sums: Sums, batch: Batch) -> torch.Tensor:
    """Return a micro-batch's `TOTALS`, on the device, so that nothing waits for it."""
    tokens = torch.full((), float(batch.lengths_B.sum()), dtype=torch.float64, device=sums.loss.device)
    return torch.stack([value.detach().double() for value in (*sums, tokens)])
