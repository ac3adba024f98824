"""Engines: what computes a training step. Everything outside this folder knows `Engine` alone."""

from __future__ import annotations

import torch

from pretrain.models.encoder import MaskedRowsModel
from pretrain.parallel.engine import Engine, OptimizerState
from pretrain.settings import PretrainSettings

__all__ = ["Engine", "OptimizerState", "engine_name", "start_engine"]


def engine_name(settings: PretrainSettings) -> str:
    """Return "torch" or "deepspeed": the setting, or where it is `auto`, torch when ZeRO shares nothing."""
    return settings.chosen_engine


def start_engine(
    model: MaskedRowsModel,
    settings: PretrainSettings,
    device: torch.device,
    state: OptimizerState | None = None,
) -> Engine:
    """Return the engine that trains a model; the processes of the run have met before.

    Args:
        model: holds the weights to begin with; it is moved to the device.
        settings: the run.
        device: of this process.
        state: of the optimizer, whole; None begins with none.
    """
    kind: type[Engine]
    if engine_name(settings) == "deepspeed":
        from pretrain.parallel.zero import DeepSpeedEngine as kind
    else:
        from pretrain.parallel.ddp import TorchEngine as kind
    return kind(model, settings, device, state)
