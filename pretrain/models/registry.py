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

ARCHITECTURES: dict[str, Architecture] = {one.name: one for one in (Roberta(), Bert(), ModernBert(), DebertaV2())}


def first_position(config: PreTrainedConfig) -> int:
    """Return the position id of a sample's first token."""
    return ARCHITECTURES[config.model_type].first_position(config.pad_token_id)


def usable_positions(config: PreTrainedConfig) -> int:
    """Return the tokens of the longest sample."""
    return int(config.max_position_embeddings) - first_position(config)
