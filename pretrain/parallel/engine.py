"""The interface of an engine: gradients over all processes, and the update of the weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import torch
import torch.distributed as dist
from torch import Tensor

from pretrain.models.encoder import MaskedRowsModel
from pretrain.objectives.objective import Sums
from pretrain.optim.optimizer import OptimizerState
from pretrain.settings import PretrainSettings


class Engine(ABC):
    """Computes gradients over all processes and applies them; nothing else knows how weights are sharded."""

    model: MaskedRowsModel
    device: torch.device
    before_waiting: Callable[[], None] = staticmethod(lambda: None)
    """Called once a step, before this process first waits for another one."""

    @abstractmethod
    def __init__(
        self, model: MaskedRowsModel, settings: PretrainSettings, device: torch.device, state: OptimizerState | None
    ) -> None: ...

    @abstractmethod
    def micro_step(self, inputs: dict[str, Tensor], loss_of: Callable[[Sums], Tensor], last: bool) -> Sums:
        """Compute a micro-batch, add up its gradient and return its sums; after the `last` gradients are averaged."""

    def settle(self, inputs: dict[str, Tensor]) -> None:  # noqa: B027 - most engines need nothing
        """Warm up so that the first step after a start equals an uninterrupted run's; no gradient stays."""

    @abstractmethod
    def gradient_norm(self) -> Tensor:
        """Return the norm of the averaged gradient over all weights, a scalar on the device, the same everywhere."""

    @abstractmethod
    def apply(self, lr: float, divisor: Tensor, skip: Tensor) -> None:
        """Update the weights by `OptimizerKind.prepare`'s arguments, forget the gradient; the host does not wait."""

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
        """Return a reader of a scalar of the device, never written to again: it waits for the work up to here alone."""
        if self.device.type != "cuda":
            return lambda: float(value)
        copy = value.to("cpu", non_blocking=True)
        copied = torch.cuda.Event()
        copied.record()

        def read() -> float:
            copied.synchronize()
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
        yield from self.model.hf_model.named_parameters()

    def gathered(self, whole: Callable[[torch.nn.Parameter], Tensor | None]) -> dict[str, Tensor]:
        """Return `whole` of each weight that has it, on the CPU of the first process, {} elsewhere; all call it."""
        values: dict[str, Tensor] = {}
        for name, weight in self.named_weights():
            value = whole(weight)
            if self.first and value is not None:
                values[name] = value.detach().to("cpu", copy=True)
        return values


def nothing(sums: Sums) -> Tensor:
    """Return 0, as a loss of which every weight has a gradient."""
    return 0.0 * sum(value for value in sums.values() if value.requires_grad)  # type: ignore[return-value]
