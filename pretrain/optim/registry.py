"""The optimizers there are, by name."""

from __future__ import annotations

from pretrain.optim.adamw import AdamW
from pretrain.optim.muon import Muon
from pretrain.optim.optimizer import OptimizerKind

OPTIMIZERS: dict[str, OptimizerKind] = {one.name: one for one in (AdamW(), Muon())}
