"""Defaults of most encoders of transformers: layers in `encoder.layer`, norms after the sums, GELU, 4 × width.

A new encoder begins here and overrides what is its own; `pretrain.models.architecture` says what each method is for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pretrain.models.architecture import Architecture

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedConfig, PreTrainedModel

    from pretrain.settings import ModelSettings


class DefaultEncoder(Architecture):
    """An encoder whose configuration and modules have BERT's names."""

    def shape(self, model: ModelSettings, head: str, vocab_size: int, special_ids: Mapping[str, int]) -> dict[str, Any]:
        """Return the entries of a configuration that these encoders share; see `config`."""
        return {
            "vocab_size": vocab_size,
            "hidden_size": model.hidden,
            "num_hidden_layers": model.layers,
            "num_attention_heads": model.heads,
            "intermediate_size": model.intermediate,
            "hidden_dropout_prob": model.dropout,
            "attention_probs_dropout_prob": model.dropped_attention,
            "initializer_range": model.initializer_range,
            "pad_token_id": special_ids["pad"],
            "tokenizer_class": "BertTokenizer",
            "architectures": [self.classes[head]],
        }

    def set_dropout(self, config: PreTrainedConfig, model: ModelSettings) -> None:
        config.hidden_dropout_prob = model.dropout
        config.attention_probs_dropout_prob = model.dropped_attention

    def layers(self, hf_model: PreTrainedModel) -> Sequence[nn.Module]:
        return hf_model.base_model.encoder.layer

    def before_layers(self, hf_model: PreTrainedModel, mark: Callable[[Tensor], None]) -> None:
        hf_model.base_model.encoder.register_forward_pre_hook(lambda _, inputs: mark(inputs[0]))

    def features(self, hf_model: PreTrainedModel, hidden_RH: Tensor) -> Tensor:
        return hf_model.cls.predictions.transform(hidden_RH)

    def feed_forward(self, hidden: int) -> int:
        return 4 * hidden

    def position_parameters(self, model: ModelSettings, length: int, pad_id: int) -> int:
        """Return the parameters of the position table; an encoder with token types adds theirs."""
        return (self.first_position(pad_id) + length) * model.hidden

    def parameters(self, model: ModelSettings, vocab_size: int, length: int, pad_id: int = 1) -> int:
        h, f = model.hidden, model.intermediate
        embeddings = vocab_size * h + self.position_parameters(model, length, pad_id) + 2 * h
        layer = 4 * (h * h + h) + (h * f + f) + (f * h + h) + 4 * h
        head = h * h + h + 2 * h + vocab_size
        return embeddings + model.layers * layer + head

    def layer_products(self, model: ModelSettings) -> int:
        """Return 4h² + 2hf: queries, keys, values, output; two feed-forward."""
        return 4 * model.hidden**2 + 2 * model.hidden * model.intermediate

    def layer_bytes(self, model: ModelSettings, number: int, norm: int, mask: int) -> float:
        """Return 6·w·h + 2·n·h + 2·w·f + 4·A, with dropout 2·m·h more.

        Input, queries, keys, values, attention's output, first norm; the two norms' inputs; feed-forward before and
        after GELU; a number a head by which the softmax can be computed again; masks of the two dropouts.
        """
        total = 6 * number * model.hidden + 2 * norm * model.hidden + 2 * number * model.intermediate + 4 * model.heads
        return float(total + (2 * mask * model.hidden if model.dropout else 0))
