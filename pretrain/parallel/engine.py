"""What training asks of an engine, and the optimizer that every engine uses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from pretrain.models.encoder import MaskedRowsModel, Sums
from pretrain.settings import PretrainSettings

MOMENTS = ("exp_avg", "exp_avg_sq")
"""AdamW's moments, by torch's names."""


@dataclass(frozen=True)
class OptimizerState:
    """AdamW's state, whole: the same whatever engine, ZeRO stage and number of processes it comes from or goes to."""

    steps: int
    """Updates so far, without those that were skipped."""
    moments: dict[str, dict[str, Tensor]]
    """Moment → name of the weight → its value, fp32."""


class Engine(ABC):
    """Computes gradients over all processes and applies them; the only place that knows how they are shared out.

    Args:
        model: the model that is trained.
        settings: the run.
        device: of this process.
        state: of the optimizer, or None.
    """

    model: MaskedRowsModel
    device: torch.device
    before_waiting: Callable[[], None] = staticmethod(lambda: None)
    """Called once a step, before this process first waits for another: up to here the work is its own."""

    @abstractmethod
    def __init__(
        self, model: MaskedRowsModel, settings: PretrainSettings, device: torch.device, state: OptimizerState | None
    ) -> None: ...

    @abstractmethod
    def micro_step(self, inputs: dict[str, Tensor], objective: Callable[[Sums], Tensor], last: bool) -> Sums:
        """Compute a micro-batch forwards and backwards, add up its gradient, and return the model's sums.

        Args:
            inputs: the model's arguments, on the device.
            objective: what is minimised, a scalar, by the model's sums.
            last: whether it is the last micro-batch of the step: gradients are then averaged over the processes.
        """

    def settle(self, inputs: dict[str, Tensor]) -> None:  # noqa: B027 - most engines need nothing
        """Do what would make the first step after a start compute otherwise than the same step of a run that goes on.

        Args:
            inputs: the model's arguments for some micro-batch; its gradient is forgotten.
        """

    @abstractmethod
    def gradient_norm(self) -> Tensor:
        """Return the norm of the averaged gradient over all weights, a scalar on the device, the same everywhere."""

    @abstractmethod
    def apply(self, lr: float, divisor: Tensor, skip: Tensor) -> None:
        """Update the weights by AdamW, and forget the gradient; the host does not wait for it.

        Args:
            lr: learning rate.
            divisor: float32 scalar on the device by which the gradient is divided.
            skip: float32 scalar on the device: 1 leaves weights, moments and the count of updates as they are.
        """

    @abstractmethod
    def weights(self) -> dict[str, Tensor]:
        """Return the weights by name, whole, on the CPU of the first process ({} on the others); all call it."""

    @abstractmethod
    def optimizer_state(self) -> OptimizerState:
        """Return the optimizer's state, whole, on the CPU of the first process (no moments elsewhere); all call it."""

    def sum(self, values: Tensor) -> Tensor:
        """Return a tensor of the device summed over the processes; they all call it, and `values` stays as it is."""
        if self.world == 1:
            return values
        total = values.clone()
        dist.all_reduce(total)
        return total

    def later(self, value: Tensor) -> Callable[[], float]:
        """Return what reads a scalar of the device: on a GPU it waits for the work up to here and for nothing after it.

        Args:
            value: is copied as soon as the device has it; nobody may write to it any more.
        """
        if self.device.type != "cuda":
            return lambda: float(value)
        copy, there = value.to("cpu", non_blocking=True), torch.cuda.Event()
        there.record()

        def read() -> float:
            there.synchronize()
            return float(copy)

        return read

    @property
    def world(self) -> int:
        """Number of processes."""
        return dist.get_world_size() if dist.is_initialized() else 1

    @property
    def first(self) -> bool:
        """Whether this is the first process."""
        return not dist.is_initialized() or dist.get_rank() == 0

    def named_weights(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Yield each weight once, with the name that transformers gives it, in the same order everywhere."""
        yield from self.model.hub.named_parameters()

    def gathered(self, whole: Callable[[torch.nn.Parameter], Tensor]) -> dict[str, Tensor]:
        """Return something of each weight on the CPU of the first process, {} elsewhere.

        Args:
            whole: weight → what is wanted of it, whole; called in the same order by every process.
        """
        found: dict[str, Tensor] = {}
        for name, weight in self.named_weights():
            value = whole(weight)
            if self.first:
                found[name] = value.detach().to("cpu", copy=True)
        return found


def make_optimizer(model: torch.nn.Module, settings: PretrainSettings) -> torch.optim.AdamW:
    """Return AdamW for a model on its device; biases and LayerNorm weights (every vector) have no decay.

    Fused, it takes a divisor of the gradient and a flag for skipping as tensors of the device, which
    `update` hands it.
    """
    o = settings.optimizer
    decayed = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    plain = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    groups: list[dict[str, Any]] = [
        {"params": decayed, "weight_decay": o.weight_decay}, {"params": plain, "weight_decay": 0.0}
    ]  # fmt: skip
    return torch.optim.AdamW(groups, lr=o.learning_rate, betas=(o.beta1, o.beta2), eps=o.eps, fused=True)


def prepare_update(optimizer: torch.optim.AdamW, lr: float, divisor: Tensor, skip: Tensor) -> None:
    """Set what AdamW's next step takes: learning rate, divisor of the gradient, and whether it is left out."""
    # an XLA device would compile the update anew for each number; elsewhere a number is the cheaper one
    rate = torch.tensor(lr, dtype=torch.float32).to(skip.device) if skip.device.type == "tpu" else lr
    for group in optimizer.param_groups:
        group["lr"] = rate
    # what torch.amp.GradScaler hands a fused optimizer, by the same names
    optimizer.grad_scale, optimizer.found_inf = divisor, skip  # type: ignore[attr-defined]


def fresh_state(like: Tensor, steps: int) -> dict[str, Tensor]:
    """Return AdamW's state of a tensor before its first update, but for the count of updates."""
    moments = {name: torch.zeros_like(like, memory_format=torch.preserve_format) for name in MOMENTS}
    return {"step": torch.tensor(float(steps), dtype=torch.float32, device=like.device), **moments}


def updates(optimizer: torch.optim.AdamW) -> int:
    """Return how many updates AdamW has made."""
    return max((int(state["step"]) for state in optimizer.state.values() if "step" in state), default=0)
