"""DeBERTa-v2 (He et al. 2021): attention by content and by relative position, in buckets that grow with the distance.

From random weights it has the shape of the published base models (DeBERTa-v3, KF-DeBERTa): 256 buckets, whose table has
a norm and shares the projections of the content, and no absolute positions. Published models keep their own values.
transformers computes its attention without a kernel, so it takes neither unpadded sequences nor the mask of packed
texts in its own forward pass, which multiplies the embeddings by the mask; `encode` gives the mask to the layers alone.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pretrain.models.architecture import Architecture
from pretrain.models.default_encoder import DefaultEncoder

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedConfig, PreTrainedModel

    from pretrain.settings import ModelSettings

BUCKETS = 256
"""Buckets of the distances either way: those up to half of it have one each, the others share them by logarithm."""
AUTHORS_HEAD = "lm_predictions.lm_head."
"""Prefix of a head's weights in the authors' code; that of transformers differs."""


class DebertaV2(DefaultEncoder):
    """DeBERTa-v2 and, as an encoder, DeBERTa-v3."""

    name, label = "deberta-v2", "DeBERTa-v2"
    classes: ClassVar[Mapping[str, str]] = {"mlm": "DebertaV2ForMaskedLM"}
    needs: ClassVar[Mapping[str, object]] = {**Architecture.needs, "conv_kernel_size": 0}
    renamed: ClassVar[Mapping[str, str]] = {
        r"^lm_predictions\.lm_head\.(dense|LayerNorm)\.": r"cls.predictions.transform.\1.",
        r"^lm_predictions\.lm_head\.bias": "cls.predictions.bias",
    }
    fixed: ClassVar[Mapping[str, object]] = {"legacy": True}
    learned_positions = False
    keeps_scores = True

    def config(
        self, model: ModelSettings, positions: int, head: str, vocab_size: int, special_ids: Mapping[str, int]
    ) -> PreTrainedConfig:
        from transformers import DebertaV2Config

        return DebertaV2Config(
            **self.shape(model, head, vocab_size, special_ids),
            max_position_embeddings=positions,
            type_vocab_size=0,
            layer_norm_eps=1e-7,
            position_biased_input=False,
            relative_attention=True,
            max_relative_positions=-1,
            position_buckets=BUCKETS,
            norm_rel_ebd="layer_norm",
            share_att_key=True,
            pos_att_type=["p2c", "c2p"],
        )

    def encode(self, hf_model: PreTrainedModel, inputs: dict[str, Any]) -> Any:
        """Give the layers a mask of pairs too; transformers' own pass multiplies the embeddings by the mask."""
        import torch

        model = hf_model.base_model
        ids_BS = inputs["input_ids"]
        mask = inputs["attention_mask"]
        if mask is None:
            mask = torch.ones_like(ids_BS)
        hidden_BSH = model.embeddings(ids_BS, inputs.get("token_type_ids"), inputs.get("position_ids"))
        return model.encoder(hidden_BSH, mask, output_hidden_states=False)

    def position_table(self, hf_model: PreTrainedModel) -> nn.Parameter | None:
        table = hf_model.base_model.embeddings.position_embeddings
        return None if table is None else table.weight

    def lengthen(self, config: PreTrainedConfig, positions: int) -> None:
        """Write the positions, and keep the distances' buckets, which go by their number where nothing else is said."""
        if config.max_relative_positions < 1:
            config.max_relative_positions = config.max_position_embeddings
        super().lengthen(config, positions)

    def published_head(self, config: PreTrainedConfig, unexpected: Collection[str]) -> PreTrainedConfig | None:
        """Return the configuration for a head under the authors' names, which few announce (`legacy`)."""
        if not config.legacy or not any(name.startswith(AUTHORS_HEAD) for name in unexpected):
            return None
        changed = copy.deepcopy(config)
        changed.legacy = False
        return changed

    def position_parameters(self, model: ModelSettings, length: int, pad_id: int) -> int:
        """Count the table of distances and its norm."""
        return 2 * BUCKETS * model.hidden + 2 * model.hidden

    def spans(self, model: ModelSettings, span: float) -> float:
        """Return the span and, of content to position and of position to content, the rows of the table."""
        return model.layers * (span + 2 * BUCKETS)

    def score_bytes(self, model: ModelSettings, number: int, mask: int, length: int, compiled: bool) -> float:
        """Return, beside the scores, w·h + 2·w·h·r/s + s, for r rows of the table; uncompiled, 2·w·A·r more.

        Keys by the scale; the rows' keys and queries, once a sample; the mask. Uncompiled, the scores by rows of the
        table, from which those by positions are gathered.
        """
        w = number
        h = model.hidden
        rows = 2 * BUCKETS
        total = super().score_bytes(model, number, mask, length, compiled) + w * h + 2 * w * h * rows / length + length
        return total if compiled else total + 2 * w * model.heads * rows
