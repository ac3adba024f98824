"""The architectures there are, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pretrain.models.architecture import Architecture
from pretrain.models.bert import Bert
from pretrain.models.deberta import DebertaV2
from pretrain.models.modernbert import ModernBert
from pretrain.models.roberta import Roberta

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

    from pretrain.settings import ModelSettings

ARCHITECTURES: dict[str, Architecture] = {kind.name: kind for kind in (Roberta(), Bert(), ModernBert(), DebertaV2())}


def fault_of(model: ModelSettings) -> str:
    """Return why a model cannot be of its architecture, with what to set instead; "" where it can."""
    own = ARCHITECTURES[model.type]
    for architecture in ARCHITECTURES.values():
        for section in architecture.sections:
            if section not in own.sections and getattr(model, section) is not None:
                return (
                    f"model.{section} is of model.type={architecture.name}, and this model is a {own.name}; leave the "
                    f"section out, or set model.type={architecture.name}"
                )
    return own.fault(model)


def first_position(config: PreTrainedConfig) -> int:
    """Return the position id of a sample's first token."""
    return ARCHITECTURES[config.model_type].first_position(config.pad_token_id)


def usable_positions(config: PreTrainedConfig) -> int:
    """Return the tokens of the longest sample."""
    return int(config.max_position_embeddings) - first_position(config)
