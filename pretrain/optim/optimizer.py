"""An optimizer: all that depends on its kind, so that one more is one file, a line in the registry and a name
in the settings.

Settings and plans ask for facts alone: torch is imported where weights are updated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from torch import Tensor, nn

    from pretrain.models.encoder import MaskedRowsModel
    from pretrain.settings import PretrainSettings


@dataclass(frozen=True)
class OptimizerState:
    """An optimizer's state, whole: the same whatever engine, ZeRO stage and number of processes it comes from."""

    steps: int
    """Updates so far, without those that were skipped."""
    moments: dict[str, dict[str, Tensor]]
    """Name of a state → name of the weight → its value, fp32."""


class OptimizerKind(ABC):
    """Makes an optimizer, keeps its state, and hands it what one step takes.

    What `build` returns has `state` (weight → its states and "step"), `step()` and `zero_grad()`. A step divides the
    gradient by a scalar of the device and leaves all as it is where another one says so: the host waits for neither.
    """

    name: ClassVar[str]
    """Name in recipes."""
    label: ClassVar[str]
    """Name for people."""
    sections: ClassVar[Sequence[str]] = ()
    """Sections of `pretrain.optimizer` that are of this kind alone, None where nothing is set."""

    def fault(self, settings: PretrainSettings) -> str:
        """Return why a run cannot use it, with what to set instead; "" where it can."""
        return ""

    def state_numbers(self, settings: PretrainSettings, parameters: int) -> int:
        """Return how many numbers it keeps between steps, of a model of so many parameters."""
        return 2 * parameters

    @abstractmethod
    def build(self, model: MaskedRowsModel, settings: PretrainSettings) -> Any:
        """Return the optimizer of a model on its device; biases and norms (every vector) have no decay."""

    @abstractmethod
    def states(self, optimizer: Any, weight: nn.Parameter) -> tuple[str, ...]:
        """Return the names of a weight's states."""

    def fresh(self, like: Tensor, states: tuple[str, ...], steps: int) -> dict[str, Tensor]:
        """Return the states of a weight, or of a part of it, before its first update; they count `steps` updates."""
        import torch

        moments = {name: torch.zeros_like(like, memory_format=torch.preserve_format) for name in states}
        return {"step": torch.tensor(float(steps), dtype=torch.float32, device=like.device), **moments}

    def load(self, optimizer: Any, weights: Mapping[str, nn.Parameter], state: OptimizerState) -> None:
        """Put a whole state into an optimizer, weight by weight."""
        for name, weight in weights.items():
            states = self.states(optimizer, weight)
            tensors = optimizer.state[weight] = self.fresh(weight, states, state.steps)
            for moment in states:
                tensors[moment].copy_(state.moments[moment][name])

    @abstractmethod
    def prepare(self, optimizer: Any, lr: float, divisor: Tensor, skip: Tensor) -> None:
        """Set what the next step takes; divisor and skip (1: all stays as it is) are float32 scalars of the device."""

    def updates(self, optimizer: Any) -> int:
        """Return how many updates have been made."""
        return max((int(state["step"]) for state in optimizer.state.values() if "step" in state), default=0)
