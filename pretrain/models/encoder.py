"""The model: transformers' own classes, with the language-model head computed on masked positions only.

Shapes: B samples, S tokens a sample, M predicted rows a sample, H hidden width, V vocabulary.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    PreTrainedConfig,
    PreTrainedModel,
    RobertaConfig,
    RobertaForMaskedLM,
)

from pretrain.batches.inputs import InputForm
from pretrain.batches.masking import IGNORE
from pretrain.kernels.attention import FILL
from pretrain.kernels.cross_entropy import linear_cross_entropy
from pretrain.models.initialisation import begin_local
from pretrain.settings import PretrainSettings

CLASSES: dict[tuple[str, str], type[PreTrainedModel]] = {
    ("roberta", "mlm"): RobertaForMaskedLM,
    ("bert", "mlm"): BertForMaskedLM,
    ("bert", "mlm+nsp"): BertForPreTraining,
}
"""(type of the model, objective) → class of transformers."""

DYNAMIC = {"ids_BS": 1, "position_ids_BS": 1, "segments_BS": 1, "cu_seqlens_K": 0}
"""Arguments of texts side by side → the dimension that differs from batch to batch."""


class Sums(NamedTuple):
    """What a forward pass gives: scalars, each a sum over the batch."""

    loss: Tensor
    """−log probability of the masked tokens."""
    correct: Tensor
    predicted: Tensor
    pair_loss: Tensor
    """−log probability of whether the second text follows; 0 without that objective."""
    pairs_correct: Tensor
    pairs: Tensor


def model_class(settings: PretrainSettings) -> type[PreTrainedModel]:
    """Return the class of transformers that a run trains."""
    return CLASSES[settings.model.type, settings.objective]


def build_config(settings: PretrainSettings, vocab_size: int, special_ids: dict[str, int]) -> PreTrainedConfig:
    """Return the transformers configuration, as in the originals where the settings say nothing.

    Args:
        settings: the run; its length is the number of usable positions (RoBERTa's table has pad id + 1 more rows,
            since it counts from there).
        vocab_size: V.
        special_ids: ids of cls, pad, sep, unk, mask.
    """
    model = settings.model
    shape: dict[str, Any] = {
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
        "architectures": [model_class(settings).__name__],
    }
    if model.type == "bert":
        return BertConfig(
            **shape, max_position_embeddings=settings.max_seq_len, type_vocab_size=2, layer_norm_eps=1e-12
        )
    return RobertaConfig(
        **shape,
        max_position_embeddings=settings.max_seq_len + special_ids["pad"] + 1,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        bos_token_id=special_ids["cls"],
        eos_token_id=special_ids["sep"],
    )


def build_model(settings: PretrainSettings, config: PreTrainedConfig) -> PreTrainedModel:
    """Return a freshly initialised model; the same seed gives the same weights.

    Args:
        settings: the run.
        config: see `build_config`.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        model = model_class(settings)(config)
    if settings.model.initialisation == "local":
        begin_local(model, settings.seed)
    return model


def recompute_layers(hub: PreTrainedModel) -> None:
    """Have a model compute its layers again in the backward pass instead of keeping what they gave."""
    # renamed after transformers 5.17; later ones warn of the older name
    enable = getattr(hub, "activation_checkpointing_enable", hub.gradient_checkpointing_enable)
    enable({"use_reentrant": False})


def first_position(config: PreTrainedConfig) -> int:
    """Return the position id of a sample's first token: 0, or pad id + 1 in RoBERTa."""
    return config.pad_token_id + 1 if config.model_type == "roberta" else 0


class MaskedRowsModel(nn.Module):
    """A masked language model whose head sees the predicted rows alone: B·M rows instead of B·S.

    The weights stay in `self.hub`, an unchanged transformers model.

    Args:
        hub: the model.
        half: 16-bit type that it computes in (autocast); None is fp32.
    """

    unpadded = False
    """Whether it is given texts side by side, without padding; see `pretrain.kernels.compile`."""
    one_shape = False
    """Whether all its batches must have the same arguments, of the same shapes: it is compiled for each combination."""
    compiles = False
    """Whether it is compiled."""

    def __init__(self, hub: PreTrainedModel, half: torch.dtype | None = None) -> None:
        super().__init__()
        self.hub, self.half = hub, half
        self._first = first_position(hub.config)
        self._longest = hub.config.max_position_embeddings - self._first

    def forward(self, ids_BS: Tensor, *more: Tensor, **named: Tensor) -> Sums:
        """Return the sums of a batch, computed in the model's numeric type.

        Autocast is entered out here: entered within what is compiled, it keeps the graph out of the compiler's cache.

        Args:
            ids_BS: see `sums`; likewise the others.
            more: its arguments by place.
            named: its arguments by name.
        """
        with torch.autocast(ids_BS.device.type, self.half) if self.half else nullcontext():
            return self.sums(ids_BS, *more, **named)

    def sums(
        self,
        ids_BS: Tensor,
        rows_BM: Tensor,
        labels_BM: Tensor,
        lengths_B: Tensor | None = None,
        segment_ids_BS: Tensor | None = None,
        segments_BS: Tensor | None = None,
        pairs_P: Tensor | None = None,
        position_ids_BS: Tensor | None = None,
        cu_seqlens_K: Tensor | None = None,
        starts_P: Tensor | None = None,
    ) -> Sums:
        """Return the sums of the batch.

        Args:
            ids_BS: int64 token ids after masking; (1, T) where the texts of all samples stand side by side.
            rows_BM: int64 positions that are predicted.
            labels_BM: int64 labels, IGNORE where the row is unused.
            lengths_B: int64 real tokens a sample, or None when nothing is padded: then no attention mask is built.
            segment_ids_BS: int64 number of the text that a position belongs to, −1 for padding. The texts do not see
                each other, and each has the positions of a sample of its own.
            segments_BS: int64 segment of each position, 0 or 1, of pairs.
            pairs_P: int64 0 where the second segment follows the first, 1 where not, IGNORE where it does not count.
            position_ids_BS: int64 place of each token in its text, of texts side by side.
            cu_seqlens_K: int32 borders of those texts, from 0 to T.
            starts_P: int64 first token of each pair, of texts side by side.
        """
        # layers that are recomputed would warn of the cache, which an encoder has not, and break the compiled graph
        inputs: dict[str, Any] = {"input_ids": ids_BS, "attention_mask": None, "use_cache": False}
        if lengths_B is not None:
            at_S = torch.arange(ids_BS.shape[1], device=ids_BS.device)
            inputs["attention_mask"] = (at_S < lengths_B[:, None]).long()
        if segment_ids_BS is not None:
            # padding sees padding, so that no row of attention is empty
            inputs["attention_mask"] = (
                segment_ids_BS[:, None, :, None] == segment_ids_BS[:, None, None, :]
            ).contiguous()
            inputs["position_ids"] = self._first + _positions(segment_ids_BS)
        if segments_BS is not None:
            inputs["token_type_ids"] = segments_BS
        if cu_seqlens_K is not None and position_ids_BS is not None:
            inputs["position_ids"] = self._first + position_ids_BS
            inputs |= {"cu_seq_lens_q": cu_seqlens_K, "max_length_q": max(FILL, self._longest)}
            inputs.setdefault("token_type_ids", torch.zeros_like(ids_BS))
        encoded = self.hub.base_model(**inputs)
        hidden_BSH = encoded.last_hidden_state
        index = rows_BM[:, :, None].expand(-1, -1, hidden_BSH.shape[-1])
        hidden_RH = torch.gather(hidden_BSH, 1, index).flatten(0, 1)
        pooled_PH = encoded.pooler_output if pairs_P is not None else None
        if starts_P is not None:
            pooled_PH = self.hub.base_model.pooler(hidden_BSH[0, starts_P][:, None])
        return self.head_sums(hidden_RH, labels_BM.reshape(-1), pooled_PH, pairs_P)

    def head_sums(
        self, hidden_RH: Tensor, labels_R: Tensor, pooled_PH: Tensor | None = None, pairs_P: Tensor | None = None
    ) -> Sums:
        """Return the sums of predicted rows and of pairs.

        Args:
            hidden_RH: the encoder's output where something is predicted.
            labels_R: int64 labels, IGNORE where the row is unused.
            pooled_PH: the pooler's output for each pair; None without pairs.
            pairs_P: as in `forward`.
        """
        decoder = self.hub.get_output_embeddings()
        masked = linear_cross_entropy(self._transform(hidden_RH), decoder.weight, decoder.bias, labels_R)
        if pooled_PH is None or pairs_P is None:
            zero = masked[0].new_zeros(())
            return Sums(*masked, zero, zero, zero)
        logits_P2 = self.hub.cls.seq_relationship(pooled_PH).float()
        pair_loss = functional.cross_entropy(logits_P2, pairs_P, ignore_index=IGNORE, reduction="sum")
        return Sums(*masked, pair_loss, (logits_P2.argmax(-1) == pairs_P).sum(), (pairs_P != IGNORE).sum())

    def input_form(self, device: torch.device) -> InputForm:
        """Return the form in which the model takes its batches on a device."""
        return InputForm(self.unpadded, self.one_shape, pinned=device.type == "cuda")

    def on_device(self, inputs: dict[str, Tensor], device: torch.device) -> dict[str, Tensor]:
        """Return arguments of `forward` on a device; nothing waits for the copies.

        Args:
            inputs: on the host; see `pretrain.batches.inputs.prepare`.
            device: of the model.
        """
        there = {name: tensor.to(device, non_blocking=True) for name, tensor in inputs.items()}
        if self.compiles and "cu_seqlens_K" in there:  # one graph for batches of all sizes
            for name in DYNAMIC.keys() & there:
                torch._dynamo.mark_dynamic(there[name], DYNAMIC[name])
        return there

    def _transform(self, hidden: Tensor) -> Tensor:
        """Return the head's features before the projection on the vocabulary."""
        if self.hub.config.model_type == "bert":
            features: Tensor = self.hub.cls.predictions.transform(hidden)
            return features
        head = self.hub.lm_head
        features = head.layer_norm(functional.gelu(head.dense(hidden)))
        return features


def _positions(segment_ids_BS: Tensor) -> Tensor:
    """Return each position's place in its text, from 0; texts stand side by side."""
    at_S = torch.arange(segment_ids_BS.shape[1], device=segment_ids_BS.device)
    begins_BS = torch.ones_like(segment_ids_BS, dtype=torch.bool)
    begins_BS[:, 1:] = segment_ids_BS[:, 1:] != segment_ids_BS[:, :-1]
    first_BS: Tensor = torch.where(begins_BS, at_S, 0).cummax(1).values
    return at_S - first_BS
