"""The DeepSpeed engine: ZeRO stages 0 to 3.

DeepSpeed shards, buckets and averages; whether a step counts, by what its gradient is divided and how large it may be
is decided outside, the same way for every engine. So DeepSpeed's own clipping, loss scale and overflow checks, each of
which would have the host wait for the device, are off. What its configuration cannot switch off, or its public
interface does not give, is in `OVERRIDES`: `tests/pretrain/parallel/test_deepspeed_overrides.py` fails when a new
version changes it.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from pretrain.models.encoder import MaskedRowsModel
from pretrain.objectives.objective import Sums
from pretrain.optim.optimizer import OptimizerState
from pretrain.optim.registry import OPTIMIZERS
from pretrain.parallel.buckets import bucket_elements
from pretrain.parallel.engine import Engine, nothing
from pretrain.settings import PretrainSettings

OVERRIDES = {
    "ops.__compatible_ops__": "says which of DeepSpeed's own kernels can be compiled here; none is used. On CPUs it "
    "would compile a shared-memory all-reduce when it starts: minutes, a C++ compiler, and a lock that a killed build "
    "leaves behind",
    "runtime.zero.stage3.is_invalid_grad_norm": "asks the device at every step of ZeRO 3 whether the norm is finite",
    "DeepSpeedZeroOptimizer._lazy_init_hp_params_optimizer_state": "links weights to their moments. DeepSpeed calls it "
    "after AdamW has updated the first of its groups, before the others have any: their moments could not be read",
    "DeepSpeedZeroOptimizer_Stage3.fp32_partitioned_groups_flat": "the flat parts that AdamW updates at ZeRO 3, which "
    "get their state before the first step, as in a run that continues",
    "runtime.zero.partition_parameters.Init._padding_size": "says how ZeRO 3 cuts a weight: flat, into equal "
    "parts, the last filled with zeros. Moments of a checkpoint are cut likewise",
}
"""Internals of DeepSpeed that are used or replaced → the reason."""


def deepspeed_config(settings: PretrainSettings, world: int, parameters: int) -> dict[str, Any]:
    """Return the DeepSpeed configuration of a run on `world` processes, of a model of so many parameters."""
    zero: dict[str, Any] = {"stage": settings.zero_stage, "reduce_bucket_size": bucket_elements(settings, parameters)}
    if settings.zero_stage:
        zero["overlap_comm"] = True  # at stages 1 and 2 by default gradients would be sent and waited for in turn
    if settings.zero_stage in (1, 2):
        zero["compute_grad_norm"] = False  # it is computed once, before DeepSpeed's step
    phase = settings.every_phase[0].settings
    return {
        # the largest batch of the first phase: where a step ends, the trainer says
        "train_batch_size": phase.global_batch,
        "train_micro_batch_size_per_gpu": phase.micro_batch,
        "gradient_accumulation_steps": phase.global_batch // (phase.micro_batch * world),
        "gradient_clipping": 0.0,
        "communication_data_type": settings.grad_reduce_dtype,
        "zero_optimization": zero,
        # it would wait for the device twice a micro-batch
        "timers": {"throughput": {"enabled": False}},
        "zero_allow_untested_optimizer": True,
        "steps_per_print": 10**12,
        "wall_clock_breakdown": False,
    }


def import_deepspeed(device: torch.device) -> Any:
    """Return DeepSpeed, quiet, for the device of this process."""
    if device.type == "cpu":
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    os.environ.setdefault("DEEPSPEED_LOG_LEVEL", "error")
    warnings.filterwarnings("ignore", module="deepspeed")
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"torch\.distributed")  # of DeepSpeed's calls
    import deepspeed
    import deepspeed.runtime.zero.stage3 as stage3

    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)  # its import has set another
    deepspeed.ops.__compatible_ops__ = {}
    stage3.is_invalid_grad_norm = lambda norm: False
    return deepspeed


class DeepSpeedEngine(Engine):
    """DeepSpeed around the model, an optimizer that updates number by number within it."""

    def __init__(
        self, model: MaskedRowsModel, settings: PretrainSettings, device: torch.device, state: OptimizerState | None
    ) -> None:
        deepspeed = import_deepspeed(device)
        self.model = model.to(device).train()
        self.device = device
        self._stage = settings.zero_stage
        self._first = True  # whether the next micro-batch is the first of its step
        backend = "nccl" if device.type == "cuda" else "gloo"
        deepspeed.init_distributed(dist_backend=backend, auto_mpi_discovery=False, verbose=False)
        self._kind = OPTIMIZERS[settings.optimizer.type]
        self._optimizer = self._kind.build(model, settings)
        self._states = self._kind.states(self._optimizer, next(model.parameters()))
        self._engine, *_ = deepspeed.initialize(
            model=model,
            optimizer=self._optimizer,
            config=deepspeed_config(settings, self.world, sum(p.numel() for p in model.parameters())),
            dist_init_required=False,
        )
        if self._stage == 3:
            decoder = model.hf_model.get_output_embeddings()
            for parameter in (decoder.weight, decoder.bias):  # the loss takes them from another module
                deepspeed.zero.register_external_parameter(model, parameter)
        self._begin(state)

    def micro_step(self, inputs: dict[str, Tensor], loss_of: Callable[[Sums], Tensor], last: bool) -> Sums:
        """Compute a micro-batch; DeepSpeed averages as soon as a bucket is full (ZeRO 2, 3), or at the last one."""
        self._engine.set_gradient_accumulation_boundary(last)
        first = self._first
        self._first = last
        if first and self._stage == 3:  # weights are fetched in the forward pass already
            self.before_waiting()
        sums: Sums = self._engine(**inputs)
        loss = loss_of(sums)
        # gradients meet in every backward pass, or in the last one
        if (first and self._stage == 2) or (last and self._stage < 2):
            self.before_waiting()
        self._engine.backward(loss, scale_wrt_gas=False)
        if not last:
            self._engine.step()  # counts
        return sums

    def settle(self, inputs: dict[str, Tensor]) -> None:
        """Dry-run a step at stage 3, where no process holds the whole model; it changes nothing."""
        if self._stage == 3:
            self.micro_step(inputs, nothing, last=True)
            skip = torch.ones((), dtype=torch.float32, device=self.device)
            self.apply(0.0, skip, skip=skip)

    def gradient_norm(self) -> Tensor:
        if self._stage == 0:
            return torch.nn.utils.get_total_norm([w.grad for _, w in self.named_weights() if w.grad is not None])
        if self._stage < 3:
            return self._engine.optimizer.scaled_global_norm()
        from deepspeed.utils import safe_get_local_grad

        norm = torch.nn.utils.get_total_norm([safe_get_local_grad(weight) for _, weight in self.named_weights()])
        return self.sum(norm.square()).sqrt()

    def apply(self, lr: float, divisor: Tensor, skip: Tensor) -> None:
        self._kind.prepare(self._optimizer, lr, divisor, skip)
        self._engine.step()

    def weights(self) -> dict[str, Tensor]:
        if self._stage < 3:
            return self.gathered(lambda weight: weight)
        from deepspeed.utils import safe_get_full_fp32_param

        return self.gathered(safe_get_full_fp32_param)

    def optimizer_state(self) -> OptimizerState:
        from deepspeed.utils import safe_get_full_optimizer_state

        def whole(weight: torch.nn.Parameter, moment: str) -> Tensor:
            if self._stage == 0:
                return self._optimizer.state[weight][moment]
            return safe_get_full_optimizer_state(weight, moment)

        moments = {
            moment: self.gathered(lambda weight, moment=moment: whole(weight, moment))  # type: ignore[misc]
            for moment in self._states
        }
        return OptimizerState(self._kind.updates(self._optimizer), moments)

    def _begin(self, state: OptimizerState | None) -> None:
        """Make the optimizer's state, in the parts that ZeRO shares, fresh or from what is given."""
        zero = self._engine.optimizer
        if self._stage == 3:  # AdamW is shown its flat parts only while it updates them
            parts = list(zero.fp32_partitioned_groups_flat)
        else:
            parts = [part for group in self._optimizer.param_groups for part in group["params"]]
        for part in parts:
            self._optimizer.state[part] = self._kind.fresh(part, self._states, state.steps if state else 0)
        if self._stage in (1, 2):
            zero._lazy_init_hp_params_optimizer_state()
        if state:
            self._load(state)

    def _load(self, state: OptimizerState) -> None:
        from deepspeed.utils import safe_set_full_optimizer_state, safe_set_local_optimizer_state

        for name, weight in self.named_weights():
            for moment in self._states:
                value = state.moments[moment][name].to(self.device)
                if self._stage == 0:
                    self._optimizer.state[weight][moment].copy_(value)
                elif self._stage < 3:
                    safe_set_full_optimizer_state(weight, value, moment)
                else:
                    safe_set_local_optimizer_state(weight, self._own_part(value), moment)

    def _own_part(self, value: Tensor) -> Tensor:
        """Return this process's part of a tensor as ZeRO 3 shards it: flat, equal parts, the last padded with zeros."""
        size = -(-value.numel() // self.world)
        filled = torch.nn.functional.pad(value.flatten(), (0, size * self.world - value.numel()))
        return filled.narrow(0, size * dist.get_rank(), size)
