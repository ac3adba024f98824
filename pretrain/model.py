"""The model: transformers' own classes, with the language-model head computed on masked positions only.

Shapes: B samples, S tokens a sample, M predicted rows a sample, H hidden width, V vocabulary.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import RobertaConfig, RobertaForMaskedLM

from common.errors import UserError
from pretrain.initialisation import begin_local
from pretrain.loss import linear_cross_entropy
from pretrain.settings import ModelSettings, PretrainSettings


def refuse_unavailable(settings: PretrainSettings) -> None:
    """Raise a UserError for settings that a recipe can state but this version cannot train yet."""
    wanted = {
        "pretrain.model.type": (settings.model.type, "roberta"),
        "pretrain.objective": (settings.objective, "mlm"),
        "pretrain.masking.kind": (settings.masking.kind, "dynamic"),
    }
    for key, (value, available) in wanted.items():
        if value != available:
            raise UserError(
                f"{key} = '{value}' is not available yet",
                f"this version trains {key} = '{available}'",
                f"set {key}={available}, or wait for the version that brings it",
            )


def build_config(model: ModelSettings, vocab_size: int, special_ids: dict[str, int], length: int) -> RobertaConfig:
    """Return the transformers configuration.

    Args:
        model: shape of the encoder.
        vocab_size: V.
        special_ids: ids of cls, pad, sep, unk, mask.
        length: usable positions; the table has pad id + 1 more rows, since RoBERTa counts from there.
    """
    return RobertaConfig(
        vocab_size=vocab_size,
        hidden_size=model.hidden,
        num_hidden_layers=model.layers,
        num_attention_heads=model.heads,
        intermediate_size=model.intermediate,
        hidden_dropout_prob=model.dropout,
        attention_probs_dropout_prob=model.dropout,
        max_position_embeddings=length + special_ids["pad"] + 1,
        type_vocab_size=1,
        initializer_range=model.initializer_range,
        layer_norm_eps=1e-5,
        pad_token_id=special_ids["pad"],
        bos_token_id=special_ids["cls"],
        eos_token_id=special_ids["sep"],
        tokenizer_class="BertTokenizer",
        architectures=["RobertaForMaskedLM"],
    )


def build_model(config: RobertaConfig, seed: int, initialisation: str = "original") -> RobertaForMaskedLM:
    """Return a freshly initialised model; the same seed gives the same weights.

    Args:
        config: see `build_config`.
        seed: of the weights.
        initialisation: see `ModelSettings.initialisation`.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = RobertaForMaskedLM(config)
    if initialisation == "local":
        begin_local(model, seed)
    return model


class MaskedRowsModel(nn.Module):
    """A masked language model whose head sees the predicted rows alone: B·M rows instead of B·S.

    The weights stay in `self.hub`, an unchanged transformers model.
    """

    def __init__(self, hub: RobertaForMaskedLM) -> None:
        super().__init__()
        self.hub = hub

    def forward(self, ids_BS: Tensor, lengths_B: Tensor | None, rows_BM: Tensor, labels_BM: Tensor) -> Any:
        """Return (sum of losses, number right, number predicted), three scalars.

        Args:
            ids_BS: int64 token ids after masking.
            lengths_B: int64 real tokens a sample, or None when nothing is padded: then no attention mask is built.
            rows_BM: int64 positions that are predicted.
            labels_BM: int64 labels, IGNORE where the row is unused.
        """
        mask = None
        if lengths_B is not None:
            mask = (torch.arange(ids_BS.shape[1], device=ids_BS.device) < lengths_B[:, None]).long()
        hidden_BSH = self.hub.roberta(input_ids=ids_BS, attention_mask=mask).last_hidden_state
        index = rows_BM[:, :, None].expand(-1, -1, hidden_BSH.shape[-1])
        hidden_BMH = torch.gather(hidden_BSH, 1, index)
        head = self.hub.lm_head
        features_RH = head.layer_norm(functional.gelu(head.dense(hidden_BMH))).flatten(0, 1)
        return linear_cross_entropy(features_RH, head.decoder.weight, head.decoder.bias, labels_BM.reshape(-1))
