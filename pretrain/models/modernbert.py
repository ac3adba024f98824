"""ModernBERT (Warner et al. 2024): RoPE, GeGLU, norms before the sums, no biases, most layers with local attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from common.settings import Settings
from pretrain.models.architecture import Architecture

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedConfig, PreTrainedModel

    from pretrain.settings import ModelSettings

WIDE, NEAR = "full_attention", "sliding_attention"
"""Kinds of layers, by the names of transformers."""


class ModernBertSettings(Settings):
    """Attention of `type: modernbert`; the defaults are the published ModernBERT's."""

    window: int = Field(128, ge=2)
    """Window of the layers with local attention, in tokens: each token sees itself and half a window on either side."""
    global_every: int = Field(3, ge=1)
    """Every n-th layer has global attention, beginning with the first; the others are local. 1: all are global."""
    global_theta: float = Field(160_000.0, gt=0)
    """RoPE base of the global layers. The paper trains 1,024 tokens with 10,000 and 8,192 with 160,000."""
    local_theta: float = Field(10_000.0, gt=0)
    """RoPE base of the local layers."""


class ModernBert(Architecture):
    name, label = "modernbert", "ModernBERT"
    classes: ClassVar[Mapping[str, str]] = {"mlm": "ModernBertForMaskedLM"}
    needs: ClassVar[Mapping[str, object]] = {**Architecture.needs, "decoder_bias": True}
    set_by: ClassVar[Mapping[str, str]] = {
        "layer_types": "pretrain.model.modernbert.global_every",
        "local_attention": "pretrain.model.modernbert.window",
        "rope_parameters": "pretrain.model.modernbert.global_theta and local_theta",
    }
    sections = ("modernbert",)
    learned_positions = False
    unpadded = True
    fuses_norms = True
    stacked: ClassVar[Mapping[str, int]] = {"attn.Wqkv.weight": 3, "mlp.Wi.weight": 2}

    def fault(self, model: ModelSettings) -> str:
        if model.hidden // model.heads % 2:
            return (
                f"model.type=modernbert rotates pairs of a head's numbers (RoPE), and hidden ({model.hidden}) / heads "
                f"({model.heads}) = {model.hidden // model.heads} is odd; set heads so that it is even"
            )
        return super().fault(model)

    def config(
        self, model: ModelSettings, positions: int, head: str, vocab_size: int, special_ids: Mapping[str, int]
    ) -> PreTrainedConfig:
        from transformers import ModernBertConfig

        own = _own(model)
        thetas = {WIDE: own.global_theta, NEAR: own.local_theta}
        config = ModernBertConfig(
            vocab_size=vocab_size,
            hidden_size=model.hidden,
            num_hidden_layers=model.layers,
            num_attention_heads=model.heads,
            intermediate_size=model.intermediate,
            max_position_embeddings=positions,
            initializer_range=model.initializer_range,
            local_attention=own.window,
            layer_types=[NEAR if layer % own.global_every else WIDE for layer in range(model.layers)],
            rope_parameters={kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in thetas.items()},
            pad_token_id=special_ids["pad"],
            cls_token_id=special_ids["cls"],
            bos_token_id=special_ids["cls"],
            sep_token_id=special_ids["sep"],
            eos_token_id=special_ids["sep"],
            tokenizer_class="BertTokenizer",
            architectures=[self.classes[head]],
        )
        self.set_dropout(config, model)
        return config

    def fuse_norms(self, hf_model: PreTrainedModel) -> None:
        for layer in self.layers(hf_model):
            layer.forward = MethodType(_layer, layer)

    def set_dropout(self, config: PreTrainedConfig, model: ModelSettings) -> None:
        config.embedding_dropout = config.mlp_dropout = model.dropout
        config.attention_dropout = model.dropped_attention

    def layers(self, hf_model: PreTrainedModel) -> Sequence[nn.Module]:
        return hf_model.base_model.layers

    def before_layers(self, hf_model: PreTrainedModel, mark: Callable[[Tensor], None]) -> None:
        """Mark each layer's hidden states, cosines and sines: the layers are of several kinds, each a graph."""

        def marked(_: nn.Module, arguments: tuple[Tensor, ...], named: dict[str, Any]) -> None:
            for tensor in (*arguments, *named["position_embeddings"]):
                mark(tensor)

        for layer in self.layers(hf_model):
            layer.register_forward_pre_hook(marked, with_kwargs=True)

    def arguments(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Leave out what this encoder has none of: a cache, and token types."""
        return {name: value for name, value in inputs.items() if name not in ("use_cache", "token_type_ids")}

    def features(self, hf_model: PreTrainedModel, hidden_RH: Tensor) -> Tensor:
        return hf_model.head(hidden_RH)

    def masks(self, hf_model: PreTrainedModel, seen_BSS: Tensor) -> dict[str, Tensor]:
        from pretrain.kernels.attention import near

        near_SS = near(seen_BSS.shape[1], hf_model.config.sliding_window + 1, seen_BSS.device)
        return {WIDE: super().masks(hf_model, seen_BSS), NEAR: super().masks(hf_model, seen_BSS & near_SS)}

    def padding(self, hf_model: PreTrainedModel, real_BS: Tensor) -> dict[str, Tensor]:
        """Return masks by which padding sees padding: local layers would leave rows of it that see nothing."""
        return self.masks(hf_model, real_BS[:, :, None] == real_BS[:, None, :])

    def with_rope_base(self, model: ModelSettings, base: float) -> ModelSettings:
        return model.model_copy(update={"modernbert": _own(model).model_copy(update={"global_theta": base})})

    def set_rope_base(self, hf_model: PreTrainedModel, model: ModelSettings) -> None:
        """Write into the buffer of the model's own rotary embedding, which a compiled graph reads as well."""
        rotary, rope = hf_model.base_model.rotary_emb, hf_model.config.rope_parameters
        if rope[WIDE]["rope_theta"] == (base := _own(model).global_theta):
            return
        rope[WIDE]["rope_theta"] = base
        frequencies, _ = rotary.compute_default_rope_parameters(hf_model.config, None, WIDE)
        getattr(rotary, f"{WIDE}_inv_freq").copy_(frequencies)

    def feed_forward(self, hidden: int) -> int:
        """Return 1.5 × hidden, up to the next multiple of 16."""
        return -(-3 * hidden // 32) * 16

    def parameters(self, model: ModelSettings, vocab_size: int, length: int, pad_id: int = 1) -> int:
        """Count a first layer that has one norm only; positions have no parameters."""
        h = model.hidden
        embeddings = vocab_size * h + h
        layers = model.layers * (self.layer_products(model) + 2 * h) - h
        head = h * h + h + vocab_size
        return embeddings + layers + h + head

    def layer_products(self, model: ModelSettings) -> int:
        """Return 4h² + 3hf: queries, keys, values, output; feed-forward with its gate, and back."""
        return 4 * model.hidden**2 + 3 * model.hidden * model.intermediate

    def spans(self, model: ModelSettings, span: float) -> float:
        """Return the span for each global layer, and for each local one at most its window."""
        own = _own(model)
        wide = -(-model.layers // own.global_every)
        return wide * span + (model.layers - wide) * min(span, 2 * (own.window // 2) + 1)

    def layer_bytes(self, model: ModelSettings, number: int, norm: int, mask: int) -> float:
        """Return 8·w·h + 2·n·h + 4·w·f + 4·A, with dropout m·f and, of attention, m·h more.

        What the two norms give, queries, keys and values, queries and keys rotated, attention's output; the two norms'
        inputs; feed-forward and gate, GELU of the one, their product; a number a head by which the softmax can be
        computed again; masks of the two dropouts.
        """
        total = 8 * number * model.hidden + 2 * norm * model.hidden + 4 * number * model.intermediate + 4 * model.heads
        dropped = (model.intermediate if model.dropout else 0) + (model.hidden if model.dropped_attention else 0)
        return float(total + mask * dropped)


def _own(model: ModelSettings) -> ModernBertSettings:
    return model.modernbert or ModernBertSettings()


def _layer(
    self: Any,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    position_embeddings: tuple[Tensor, Tensor] | None = None,
    **more: Any,
) -> Tensor:
    """Return the output of transformers' ModernBertEncoderLayer; its first sum and second norm are one operator."""
    from pretrain.kernels.add_norm import add_norm

    attended, _ = self.attn(
        self.attn_norm(hidden_states), position_embeddings=position_embeddings, attention_mask=attention_mask, **more
    )
    norm = self.mlp_norm
    normed, total = add_norm(attended, hidden_states, norm.weight, norm.bias, None, norm.eps)
    return total + self.mlp(normed)
