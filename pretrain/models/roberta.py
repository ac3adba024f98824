"""RoBERTa (Liu et al. 2019): BERT with one token type, whose position ids begin behind the padding's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from pretrain.models.bert import Bert

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedConfig, PreTrainedModel

    from pretrain.settings import ModelSettings


class Roberta(Bert):
    name, label = "roberta", "RoBERTa"
    classes: ClassVar[Mapping[str, str]] = {"mlm": "RobertaForMaskedLM"}
    token_types = 1

    def config(
        self, model: ModelSettings, positions: int, head: str, vocab_size: int, special_ids: Mapping[str, int]
    ) -> PreTrainedConfig:
        """Return a RobertaConfig; its table has pad id + 1 rows more than there are usable positions."""
        from transformers import RobertaConfig

        return RobertaConfig(
            **self.shape(model, head, vocab_size, special_ids),
            max_position_embeddings=positions + self.first_position(special_ids["pad"]),
            type_vocab_size=self.token_types,
            layer_norm_eps=1e-5,
            bos_token_id=special_ids["cls"],
            eos_token_id=special_ids["sep"],
        )

    def features(self, hf_model: PreTrainedModel, hidden_RH: Tensor) -> Tensor:
        from torch.nn.functional import gelu

        head = hf_model.lm_head
        return head.layer_norm(gelu(head.dense(hidden_RH)))

    def first_position(self, pad_id: int) -> int:
        return pad_id + 1
