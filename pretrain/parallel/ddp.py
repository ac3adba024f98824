"""The torch engine: every process holds the whole model, and gradients are averaged during the backward pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
from torch.nn.parallel import DistributedDataParallel

from pretrain.models.encoder import MaskedRowsModel
from pretrain.objectives.objective import Sums
from pretrain.optim.optimizer import OptimizerState
from pretrain.optim.registry import OPTIMIZERS
from pretrain.parallel.buckets import bucket_elements
from pretrain.parallel.engine import Engine, nothing
from pretrain.settings import PretrainSettings


class TorchEngine(Engine):
    """torch's DistributedDataParallel around the model, the optimizer beside it."""

    def __init__(
        self, model: MaskedRowsModel, settings: PretrainSettings, device: torch.device, state: OptimizerState | None
    ) -> None:
        self.model, self.device = model.to(device).train(), device
        self._shared = self.world > 1
        self._forward: torch.nn.Module = model
        if self._shared:
            with warnings.catch_warnings():
                # torch 2.13 renames `broadcast_buffers`, which 2.11 knows by this name alone
                warnings.simplefilter("ignore", FutureWarning)
                self._forward = DistributedDataParallel(
                    model,
                    device_ids=[device] if device.type == "cuda" else None,
                    broadcast_buffers=False,
                    bucket_cap_mb=bucket_elements(settings, sum(p.numel() for p in model.parameters())) * 4 / 2**20,
                    gradient_as_bucket_view=True,  # averaged where they are added up, without a copy
                )
                if settings.grad_reduce_dtype == "bf16":
                    # by another name: on a CPU, whose gloo takes bf16 as well, torch refuses the hook by its own
                    self._forward.register_comm_hook(None, lambda group, bucket: bf16_compress_hook(group, bucket))
        self._kind = OPTIMIZERS[settings.optimizer.type]
        self._optimizer = self._kind.build(model, settings)
        if state:
            self._kind.load(self._optimizer, dict(self.named_weights()), state)

    def micro_step(self, inputs: dict[str, Tensor], loss_of: Callable[[Sums], Tensor], last: bool) -> Sums:
        """Compute a micro-batch; averaging begins during the backward pass of the last one."""
        apart = self._forward.no_sync() if self._shared and not last else nullcontext()  # type: ignore[operator]
        with apart:
            sums: Sums = self._forward(**inputs)
            loss = loss_of(sums)
            if last:
                self.before_waiting()
            loss.backward()  # type: ignore[no-untyped-call]
        return sums

    def settle(self, inputs: dict[str, Tensor]) -> None:
        """Fix the layout of the gradient buckets, which torch sets after the first backward pass.

        Sums over more than two processes depend on the order of their terms, and so on the place in a bucket: a resumed
        run would take its first step with other buckets than an uninterrupted one.
        """
        if self._shared:
            self.micro_step(inputs, nothing, last=True)
            self._optimizer.zero_grad()

    def gradient_norm(self) -> Tensor:
        gradients = [weight.grad for _, weight in self.named_weights() if weight.grad is not None]
        return torch.nn.utils.get_total_norm(gradients)

    def apply(self, lr: float, divisor: Tensor, skip: Tensor) -> None:
        self._kind.prepare(self._optimizer, lr, divisor, skip)
        self._optimizer.step()
        self._optimizer.zero_grad()

    def weights(self) -> dict[str, Tensor]:
        return self.gathered(lambda weight: weight)

    def optimizer_state(self) -> OptimizerState:
        optimizer, kind = self._optimizer, self._kind
        names = dict.fromkeys(name for _, weight in self.named_weights() for name in kind.states(optimizer, weight))
        moments = {
            name: self.gathered(lambda weight, name=name: optimizer.state[weight].get(name))  # type: ignore[misc]
            for name in names
        }
        return OptimizerState(kind.updates(optimizer), moments)
