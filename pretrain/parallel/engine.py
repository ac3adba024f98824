"""What training asks of an engine: gradients over all processes, and their update."""

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
        """Do what would make the first step after a start compute otherwise than the same step of a run that continues.

        Args:
            inputs: the model's arguments for some micro-batch; its gradient is forgotten.
        """

    @abstractmethod
    def gradient_norm(self) -> Tensor:
        """Return the norm of the averaged gradient over all weights, a scalar on the device, the same everywhere."""

    @abstractmethod
    def apply(self, lr: float, divisor: Tensor, skip: Tensor) -> None:
        """Update the weights, and forget the gradient; the host does not wait for it.

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
        yield from self.model.hf_model.named_parameters()

    def gathered(self, whole: Callable[[torch.nn.Parameter], Tensor | None]) -> dict[str, Tensor]:
        """Return something of each weight that has it on the CPU of the first process, {} elsewhere.

        Args:
            whole: weight → what is wanted of it, whole, or None; called in the same order by every process.
        """
        found: dict[str, Tensor] = {}
        for name, weight in self.named_weights():
            value = whole(weight)
            if self.first and value is not None:
                found[name] = value.detach().to("cpu", copy=True)
        return found


def nothing(sums: Sums) -> Tensor:
    """Return 0, as a loss of which every weight has a gradient."""
    return 0.0 * sum(value for value in sums.values() if value.requires_grad)  # type: ignore[return-value]
