"""The model: transformers' own classes, with the language-model head computed on masked positions only.

Shapes: B samples, S tokens a sample, M predicted rows a sample, H hidden width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel

from pretrain.batches.inputs import InputForm
from pretrain.kernels.attention import FILL
from pretrain.kernels.cross_entropy import linear_cross_entropy
from pretrain.models.initialisation import begin_local
from pretrain.models.registry import ARCHITECTURES, first_position, usable_positions
from pretrain.objectives.objective import Objective, Sums
from pretrain.objectives.registry import OBJECTIVES
from pretrain.settings import PretrainSettings

DYNAMIC = {"ids_BS": 1, "position_ids_BS": 1, "segments_BS": 1, "cu_seqlens_K": 0}
"""Arguments of unpadded sequences → the dimension that differs from batch to batch."""


def head_of(settings: PretrainSettings) -> str:
    """Return the head of a run's model: that of the objective it ends with."""
    return OBJECTIVES[settings.objectives[0]].head


def model_class(settings: PretrainSettings) -> type[PreTrainedModel]:
    """Return the class of transformers that a run trains."""
    return ARCHITECTURES[settings.model.type].model_class(head_of(settings))


def build_config(settings: PretrainSettings, vocab_size: int, special_ids: Mapping[str, int]) -> PreTrainedConfig:
    """Return the transformers configuration of a run; see `Architecture.config`."""
    model = settings.model
    positions = settings.longest
    return ARCHITECTURES[model.type].config(model, positions, head_of(settings), vocab_size, special_ids)


def build_model(settings: PretrainSettings, config: PreTrainedConfig) -> PreTrainedModel:
    """Return a freshly initialised model of a configuration; the same seed gives the same weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        model = model_class(settings)(config)
    if settings.model.initialisation == "local":
        begin_local(model, settings.seed)
    return model


def recompute_layers(hf_model: PreTrainedModel) -> None:
    """Have a model compute its layers again in the backward pass instead of keeping what they gave."""
    # renamed after transformers 5.17; later ones warn of the older name
    enable = getattr(hf_model, "activation_checkpointing_enable", hf_model.gradient_checkpointing_enable)
    enable({"use_reentrant": False})


class MaskedRowsModel(nn.Module):
    """An encoder whose head sees the predicted rows alone: B·M rows instead of B·S.

    The weights stay in `self.hf_model`, an unchanged transformers model. By default its objective is the first that its
    head is made for.
    """

    unpadded = False
    """Whether it is given unpadded sequences; see `pretrain.kernels.compile`."""
    one_shape = False
    """Whether all its batches must have the same arguments, of the same shapes: it is compiled for each combination."""
    compiles = False
    """Whether it is compiled."""

    def __init__(
        self, hf_model: PreTrainedModel, half: torch.dtype | None = None, objective: Objective | None = None
    ) -> None:
        super().__init__()
        self.hf_model = hf_model
        self.half = half
        self.architecture = ARCHITECTURES[hf_model.config.model_type]
        heads = {name: head for head, name in self.architecture.classes.items()}
        head = heads[type(hf_model).__name__]
        self.objective = objective or next(candidate for candidate in OBJECTIVES.values() if candidate.head == head)
        self._first = first_position(hf_model.config)
        self._longest = usable_positions(hf_model.config)

    def enter(self, phase: PretrainSettings) -> Objective:
        """Have the model compute as the settings of a phase say, and return what is learned in it."""
        self.objective = OBJECTIVES[phase.objective]
        self.architecture.set_rope_base(self.hf_model, phase.model)
        return self.objective

    def forward(self, ids_BS: Tensor, *more: Tensor, **named: Tensor) -> Sums:
        """Return the sums of a batch in the model's numeric type; arguments are those of `sums`.

        Autocast is entered out here: entered within what is compiled, it keeps the graph out of the compiler's cache.
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
        position_ids_BS: Tensor | None = None,
        cu_seqlens_K: Tensor | None = None,
        **own: Tensor,
    ) -> Sums:
        """Return the sums of the batch.

        Args:
            ids_BS: int64 token ids after masking; (1, T) where the sequences of all samples are unpadded.
            lengths_B: int64 real tokens a sample, or None when nothing is padded: then no attention mask is built.
            segment_ids_BS: int64 number of the text that a position belongs to, −1 for padding. The texts do not see
                each other, and each has the positions of a sample of its own.
            segments_BS: int64 segment of each position, 0 or 1, of pairs.
            cu_seqlens_K: int32 borders of unpadded texts, from 0 to T.
        """
        encoded = self.encode(ids_BS, lengths_B, segment_ids_BS, segments_BS, position_ids_BS, cu_seqlens_K)
        hidden_BSH = encoded.last_hidden_state
        index = rows_BM[:, :, None].expand(-1, -1, hidden_BSH.shape[-1])
        hidden_RH = torch.gather(hidden_BSH, 1, index).flatten(0, 1)
        gathered = self.objective.gather(self, encoded, **own)
        return self.head_sums(hidden_RH, labels_BM.reshape(-1), **gathered)

    def encode(
        self,
        ids_BS: Tensor,
        lengths_B: Tensor | None = None,
        segment_ids_BS: Tensor | None = None,
        segments_BS: Tensor | None = None,
        position_ids_BS: Tensor | None = None,
        cu_seqlens_K: Tensor | None = None,
    ) -> Any:
        """Return the encoder's output of a batch, `last_hidden_state` (B, S, H); arguments as those of `sums`."""
        causal = self.objective.causal
        # layers that are recomputed would warn of the cache, which an encoder has not, and break the compiled graph
        inputs: dict[str, Any] = {"input_ids": ids_BS, "attention_mask": None, "use_cache": False}
        seen_BSS: Tensor | None = None
        if segment_ids_BS is not None:  # padding sees padding, so that no row of attention is empty
            seen_BSS = segment_ids_BS[:, :, None] == segment_ids_BS[:, None, :]
            inputs["position_ids"] = self._first + _positions(segment_ids_BS)
        elif lengths_B is not None:
            at_S = torch.arange(ids_BS.shape[1], device=ids_BS.device)
            inputs["attention_mask"] = self.architecture.padding(self.hf_model, at_S < lengths_B[:, None])
        if causal and cu_seqlens_K is None:  # of what is behind them no position sees anything, so neither of padding
            before_SS = torch.ones(ids_BS.shape[1:] * 2, dtype=torch.bool, device=ids_BS.device).tril()
            seen_BSS = before_SS.expand(len(ids_BS), -1, -1) if seen_BSS is None else seen_BSS & before_SS
        if seen_BSS is not None:
            inputs["attention_mask"] = self.architecture.masks(self.hf_model, seen_BSS)
        if segments_BS is not None:
            inputs["token_type_ids"] = segments_BS
        if cu_seqlens_K is not None and position_ids_BS is not None:
            assert self.architecture.unpadded  # any other would have all texts see each other
            inputs["position_ids"] = self._first + position_ids_BS
            inputs |= {"cu_seq_lens_q": cu_seqlens_K, "max_length_q": max(FILL, self._longest)}
            if causal:
                inputs["causal"] = True
        return self.architecture.encode(self.hf_model, inputs)

    def head_sums(self, hidden_RH: Tensor, labels_R: Tensor, **gathered: Tensor) -> Sums:
        """Return the sums of predicted rows, and of what else the objective has `gathered`."""
        return self.objective.head_sums(self, hidden_RH, labels_R, **gathered)

    def vocabulary_sums(self, hidden_RH: Tensor, labels_R: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return −log probability of the labels, rows predicted right, and rows predicted; see `head_sums`."""
        decoder = self.hf_model.get_output_embeddings()
        features_RH = self.architecture.features(self.hf_model, hidden_RH)
        return linear_cross_entropy(features_RH, decoder.weight, decoder.bias, labels_R)

    def input_form(self, device: torch.device) -> InputForm:
        """Return the form in which the model takes its batches on a device."""
        return InputForm(self.unpadded, self.one_shape, pinned=device.type == "cuda")

    def on_device(self, inputs: dict[str, Tensor], device: torch.device) -> dict[str, Tensor]:
        """Return arguments of `forward` on a device; nothing waits for the copies."""
        moved = {name: tensor.to(device, non_blocking=True) for name, tensor in inputs.items()}
        if self.compiles and "cu_seqlens_K" in moved:  # one graph for batches of all sizes
            for name in DYNAMIC.keys() & moved:
                torch._dynamo.mark_dynamic(moved[name], DYNAMIC[name])
        return moved


def _positions(segment_ids_BS: Tensor) -> Tensor:
    """Return each position's place in its text, from 0; texts are packed one after the other."""
    at_S = torch.arange(segment_ids_BS.shape[1], device=segment_ids_BS.device)
    begins_BS = torch.ones_like(segment_ids_BS, dtype=torch.bool)
    begins_BS[:, 1:] = segment_ids_BS[:, 1:] != segment_ids_BS[:, :-1]
    return at_S - torch.where(begins_BS, at_S, 0).cummax(1).values
