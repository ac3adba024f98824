"""AdamW (Loshchilov and Hutter 2019), torch's fused kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pretrain.optim.optimizer import OptimizerKind

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from pretrain.settings import OptimizerSettings, PretrainSettings

MOMENTS = ("exp_avg", "exp_avg_sq")
"""AdamW's states by torch's names."""


class AdamW(OptimizerKind):
    name, label = "adamw", "AdamW"

    def build(self, model: nn.Module, settings: PretrainSettings) -> torch.optim.AdamW:
        """Return torch's optimizer; fused, it takes divisor and skipping as tensors of the device."""
        return adamw([weight for weight in model.parameters() if weight.requires_grad], settings.optimizer)

    def states(self, optimizer: Any, weight: nn.Parameter) -> tuple[str, ...]:
        return MOMENTS

    def prepare(self, optimizer: torch.optim.AdamW, lr: float, divisor: Tensor, skip: Tensor) -> None:
        prepare_adamw(optimizer, lr, divisor, skip)


def adamw(weights: list[nn.Parameter], o: OptimizerSettings) -> torch.optim.AdamW:
    """Return AdamW for weights on their device; vectors have no decay."""
    import torch

    groups: list[dict[str, Any]] = [
        {"params": [weight for weight in weights if weight.ndim > 1], "weight_decay": o.weight_decay},
        {"params": [weight for weight in weights if weight.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=o.learning_rate, betas=(o.beta1, o.beta2), eps=o.eps, fused=True)


def prepare_adamw(optimizer: torch.optim.AdamW, lr: float, divisor: Tensor, skip: Tensor) -> None:
    """Set what AdamW's next step takes; see `OptimizerKind.prepare`."""
    import torch

    # an XLA device would compile the update anew for each number; elsewhere a number is the cheaper one
    rate = torch.tensor(lr, dtype=torch.float32).to(skip.device) if skip.device.type == "tpu" else lr
    for group in optimizer.param_groups:
        group["lr"] = rate
    # what torch.amp.GradScaler hands a fused optimizer, by the same names
    optimizer.grad_scale, optimizer.found_inf = divisor, skip  # type: ignore[attr-defined]
