"""BERT (Devlin et al. 2019): learned positions, norms after the sums, GELU."""

from __future__ import annotations

from collections.abc import Mapping
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar

from pretrain.models.default_encoder import DefaultEncoder

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedConfig, PreTrainedModel

    from pretrain.settings import ModelSettings


class Bert(DefaultEncoder):
    name, label = "bert", "BERT"
    classes: ClassVar[Mapping[str, str]] = {"mlm": "BertForMaskedLM", "mlm+nsp": "BertForPreTraining"}
    unpadded = True
    fuses_norms = True
    token_types = 2

    def config(
        self, model: ModelSettings, positions: int, head: str, vocab_size: int, special_ids: Mapping[str, int]
    ) -> PreTrainedConfig:
        from transformers import BertConfig

        return BertConfig(
            **self.shape(model, head, vocab_size, special_ids),
            max_position_embeddings=positions,
            type_vocab_size=self.token_types,
            layer_norm_eps=1e-12,
        )

    def arguments(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Add token types where sequences are unpadded: BERT's own would have another shape."""
        if "cu_seq_lens_q" in inputs and "token_type_ids" not in inputs:
            inputs["token_type_ids"] = inputs["input_ids"].new_zeros(inputs["input_ids"].shape)
        return inputs

    def fuse(self, hf_model: PreTrainedModel) -> None:
        from pretrain.kernels.attention import attend_fused

        for layer in self.layers(hf_model):
            own = layer.attention.self
            own.forward = MethodType(attend_fused, own)

    def fuse_norms(self, hf_model: PreTrainedModel) -> None:
        for layer in self.layers(hf_model):
            for block in (layer.attention.output, layer.output):
                block.forward = MethodType(_add_norm, block)

    def position_table(self, hf_model: PreTrainedModel) -> nn.Parameter:
        return hf_model.base_model.embeddings.position_embeddings.weight

    def query_and_key(self, layer: nn.Module) -> tuple[Tensor, Tensor]:
        own = layer.attention.self
        return own.query.weight, own.key.weight

    def position_parameters(self, model: ModelSettings, length: int, pad_id: int) -> int:
        return super().position_parameters(model, length, pad_id) + self.token_types * model.hidden


def _add_norm(self: Any, hidden_states: Tensor, input_tensor: Tensor) -> Tensor:
    """Return the output of transformers' BertSelfOutput or BertOutput; the operator adds the bias of its product."""
    from torch.nn import functional

    from pretrain.kernels.add_norm import add_norm

    branch = functional.linear(hidden_states, self.dense.weight)
    norm = self.LayerNorm
    dropout = self.dropout.p if self.training else 0.0
    return add_norm(branch, input_tensor, norm.weight, norm.bias, self.dense.bias, norm.eps, dropout)[0]
