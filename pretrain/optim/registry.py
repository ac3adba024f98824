"""The optimizers there are, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pretrain.optim.adamw import AdamW
from pretrain.optim.muon import Muon
from pretrain.optim.optimizer import OptimizerKind

if TYPE_CHECKING:
    from pretrain.settings import OptimizerSettings

OPTIMIZERS: dict[str, OptimizerKind] = {kind.name: kind for kind in (AdamW(), Muon())}


def unread_section(settings: OptimizerSettings) -> str:
    """Return why a section that is set would not be read, with what to set instead; "" where all are."""
    for kind in OPTIMIZERS.values():
        for name in kind.sections if kind.name != settings.type else ():
            if getattr(settings, name) is not None:
                return (
                    f"optimizer.{name} is read with optimizer.type={kind.name} alone, and optimizer.type is "
                    f"{settings.type}; leave optimizer.{name} out, or set optimizer.type={kind.name}"
                )
    return ""
