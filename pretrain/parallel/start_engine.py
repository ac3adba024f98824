"""The engine that a run's settings name."""

from __future__ import annotations

import torch

from pretrain.models.encoder import MaskedRowsModel
from pretrain.optim.optimizer import OptimizerState
from pretrain.parallel.ddp import TorchEngine
from pretrain.parallel.engine import Engine
from pretrain.settings import PretrainSettings


def start_engine(
    model: MaskedRowsModel,
    settings: PretrainSettings,
    device: torch.device,
    state: OptimizerState | None = None,
) -> Engine:
    """Return the engine that trains a model; the processes of the run have met before."""
    kind: type[Engine]
    if settings.chosen_engine == "deepspeed":
        from pretrain.parallel.zero import DeepSpeedEngine as kind  # a library of its own
    else:
        kind = TorchEngine
    return kind(model, settings, device, state)
