"""Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/) for the layers' matrices, AdamW for the rest.

Muon replaces a matrix's momentum by the nearest orthogonal matrix: U·Vᵀ of its singular value decomposition U·S·Vᵀ.
Directions of small gradients are then learned as fast as those of large ones. With G the gradient of an r × c matrix W:

    M ← μ·M + (1 − μ)·G                           momentum
    O ← orthogonal(μ·M + (1 − μ)·G)               Nesterov's look ahead; Newton–Schulz iterations
    W ← W − η·(λ·W + 0.2·√max(r, c)·O)            η learning rate, λ weight decay

Numbers of O have a root mean square of 1/√max(r, c); scaled so, the update's is 0.2, about AdamW's (Liu et al. 2025,
arXiv:2502.16982, section 2.2). One learning rate and one weight decay serve both optimizers.

Each matrix of a weight that holds several (queries, keys and values, say) is made orthogonal by itself.
Matrices of one shape are stacked and multiplied together: a model of any depth takes as many kernels. In several
processes each one computes the whole update, from the same averaged gradient; on devices of one kind, or the weights
would drift apart by rounding.

Shapes: N matrices, R rows, C columns; K the smaller of R and C, L the larger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from common.settings import Settings
from pretrain.models.registry import ARCHITECTURES
from pretrain.optim.adamw import MOMENTS, adamw, prepare_adamw
from pretrain.optim.optimizer import OptimizerKind

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from pretrain.models.encoder import MaskedRowsModel
    from pretrain.settings import PretrainSettings

MOMENTUM = "momentum"
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of x ↦ a·x + b·x³ + c·x⁵ (Jordan et al.), which five times over takes all from 0.002 to 1 to 0.68 to 1.21."""
ITERATIONS = 5
SMALLEST_NORM = 1e-7
"""A matrix of a smaller norm is divided by this: a gradient of zeros gives an update of zeros."""
UPDATE = 0.2
"""Root mean square of an update's numbers, in learning rates (Liu et al. 2025)."""
STACKED = 1 << 25
"""Numbers that are stacked at most, unless one matrix has more; their copies take 0.8 GB at the fullest moment."""


class MuonSettings(Settings):
    """Settings of Muon."""

    momentum: float = Field(0.95, ge=0, lt=1)
    """Momentum μ, which averages gradients over about 1 / (1 − μ) steps (Jordan et al. 2024: 0.95)."""


class Muon(OptimizerKind):
    """Muon for the matrices of the layers; AdamW for embeddings, positions, head, biases and norms."""

    name, label = "muon", "Muon + AdamW"
    sections: ClassVar[Sequence[str]] = ("muon",)

    def fault(self, settings: PretrainSettings) -> str:
        if not settings.zero_stage and settings.engine != "deepspeed":
            return ""
        return (
            f"optimizer.type={self.name} does not go with engine={settings.engine} and "
            f"zero_stage={settings.zero_stage}: DeepSpeed cuts matrices into flat parts, and Muon takes them whole; "
            "set engine=auto and zero_stage=0, or optimizer.type=adamw"
        )

    def state_numbers(self, settings: PretrainSettings, parameters: int) -> int:
        """Return one number for each of the layers' matrices, and two for each other parameter."""
        model = settings.model
        return 2 * parameters - model.layers * ARCHITECTURES[model.type].layer_products(model)

    def build(self, model: MaskedRowsModel, settings: PretrainSettings) -> MuonOptimizer:
        o = settings.optimizer
        architecture = model.architecture
        matrices = {
            weight: architecture.stacked.get(name, 1)
            for layer in architecture.layers(model.hf_model)
            for name, weight in layer.named_parameters()
            if weight.ndim == 2 and weight.requires_grad
        }
        by_adamw = [weight for weight in model.parameters() if weight.requires_grad and weight not in matrices]
        optimizer = MuonOptimizer(matrices, adamw(by_adamw, o), (o.muon or MuonSettings()).momentum, o.weight_decay)
        for weight in matrices:
            optimizer.state[weight] = self.fresh(weight, (MOMENTUM,), 0)
        return optimizer

    def states(self, optimizer: MuonOptimizer, weight: nn.Parameter) -> tuple[str, ...]:
        return (MOMENTUM,) if weight in optimizer.matrices else MOMENTS

    def prepare(self, optimizer: MuonOptimizer, lr: float, divisor: Tensor, skip: Tensor) -> None:
        prepare_adamw(optimizer.adamw, lr, divisor, skip)
        optimizer.rate = optimizer.adamw.param_groups[0]["lr"]  # on a TPU a tensor
        optimizer.divisor, optimizer.skip = divisor, skip


class MuonOptimizer:
    """Muon beside AdamW for the rest; `matrices` are weights → how many matrices each holds, one below the other."""

    rate: float | Tensor
    divisor: Tensor
    skip: Tensor

    def __init__(
        self, matrices: Mapping[nn.Parameter, int], adamw: torch.optim.AdamW, momentum: float, weight_decay: float
    ) -> None:
        self.adamw = adamw
        self._momentum = momentum
        self._weight_decay = weight_decay
        self.matrices = matrices
        self.state: dict[Any, dict[str, Tensor]] = adamw.state
        self._stacks = stacks_of(self.matrices)

    def step(self) -> None:
        """Update the weights that have a gradient; the host waits for nothing."""
        import torch

        self.adamw.step()
        with torch.no_grad():
            for stack in self._stacks:
                if learned := [weight for weight in stack if weight.grad is not None]:
                    self._update(learned)

    def zero_grad(self) -> None:
        self.adamw.zero_grad()
        for weight in self.matrices:
            weight.grad = None

    def _update(self, weights: list[nn.Parameter]) -> None:
        """Update matrices of one shape; where the step is skipped, write back what is there."""
        import torch

        skipped = self.skip > 0
        states = [self.state[weight] for weight in weights]
        gradient_NRC = torch.stack([weight.grad for weight in weights]).div_(self.divisor)  # type: ignore[misc]
        before_NRC = torch.stack([state[MOMENTUM] for state in states])
        momentum_NRC = torch.lerp(before_NRC, gradient_NRC, 1 - self._momentum)
        rows, columns = weights[0].shape
        rows //= self.matrices[weights[0]]
        mixed_NRC = gradient_NRC.lerp_(momentum_NRC, self._momentum)
        direction_NRC = orthogonal(mixed_NRC.reshape(-1, rows, columns)).reshape(mixed_NRC.shape)
        stored_NRC = torch.where(skipped, before_NRC, momentum_NRC)
        torch._foreach_copy_([state[MOMENTUM] for state in states], stored_NRC.unbind())
        torch._foreach_add_([state["step"] for state in states], [1 - self.skip] * len(states))
        del gradient_NRC, mixed_NRC, before_NRC, momentum_NRC, stored_NRC
        weight_NRC = torch.stack(weights)
        size = UPDATE * max(rows, columns) ** 0.5
        moved_NRC = weight_NRC - (weight_NRC * self._weight_decay + direction_NRC * size) * self.rate
        torch._foreach_copy_(weights, torch.where(skipped, weight_NRC, moved_NRC).unbind())


def stacks_of(matrices: Mapping[nn.Parameter, int]) -> list[list[nn.Parameter]]:
    """Return weights that hold matrices of one shape, in their order, at most `STACKED` numbers together."""
    by_shape: dict[tuple[torch.Size, int], list[nn.Parameter]] = {}
    for weight, count in matrices.items():
        by_shape.setdefault((weight.shape, count), []).append(weight)
    stacks = []
    for (shape, _), weights in by_shape.items():
        most = max(1, STACKED // shape.numel())
        stacks += [weights[first : first + most] for first in range(0, len(weights), most)]
    return stacks


def orthogonal(matrices_NRC: Tensor) -> Tensor:
    """Return about U·Vᵀ of each matrix U·S·Vᵀ, by Newton–Schulz iterations: bf16 where a GPU or TPU has it, else fp32.

    The iterations bring singular values near 1 and no nearer; training is the same as with exact ones (Jordan et al.).
    """
    import torch

    from pretrain.kernels.precision import half_type

    on_cpu = matrices_NRC.device.type == "cpu"
    dtype = (None if on_cpu else half_type("auto")) or torch.float32
    a, b, c = COEFFICIENTS
    tall = matrices_NRC.shape[1] > matrices_NRC.shape[2]
    wide_NKL = matrices_NRC.mT if tall else matrices_NRC
    norm_N11 = torch.linalg.vector_norm(wide_NKL, dim=(1, 2), keepdim=True).clamp(min=SMALLEST_NORM)
    x_NKL = (wide_NKL / norm_N11).to(dtype)
    for _ in range(ITERATIONS):
        squares_NKK = x_NKL @ x_NKL.mT
        factors_NKK = torch.baddbmm(squares_NKK, squares_NKK, squares_NKK, beta=b, alpha=c)
        x_NKL = torch.baddbmm(x_NKL, factors_NKK, x_NKL, beta=a)
    return (x_NKL.mT if tall else x_NKL).to(matrices_NRC.dtype)
