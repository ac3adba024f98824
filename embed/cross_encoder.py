"""A cross-encoder in sentence-transformers' Trainer: its weights, its loss, its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import CrossEncoder, CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
from transformers import AutoModelForSequenceClassification

from embed.base import LOCAL, load_encoder
from embed.data import TrainingSet, load_sets
from embed.rerank import labelled_pairs
from embed.settings import EmbedSettings
from embed.trainer import ExactTrainer


def load_head(folder: Path) -> Any:
    """Return a folder's model with its head of one output, in fp32."""
    return AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32, trust_remote_code=False)


class CrossTuner(ExactTrainer, CrossEncoderTrainer):
    """The Trainer of a cross-encoder; see `embed.trainer.Tuner`."""

    arguments: Any = CrossEncoderTrainingArguments
    load_weights = staticmethod(load_head)

    @staticmethod
    def read_sets(s: EmbedSettings) -> list[TrainingSet]:
        """Return the sets as labelled pairs."""
        return labelled_pairs(load_sets(s))

    @staticmethod
    def begin(base: Path, s: EmbedSettings, device: str) -> CrossEncoder:
        """Return the base with a random head."""
        load_encoder(base)  # refuses one that lacks weights
        torch.manual_seed(s.seed)
        return CrossEncoder(
            str(base), num_labels=1, max_length=s.max_seq_len, device=device, model_kwargs={"dtype": torch.float32},
            **LOCAL,
        )  # fmt: skip

    @staticmethod
    def loss_by_set(sets: list[TrainingSet], model: Any, *_: Any) -> dict[str, Any]:
        """Return set → binary cross-entropy."""
        return {one.name: BinaryCrossEntropyLoss(model) for one in sets}

    @staticmethod
    def save_folder(
        folder: Path, checkpoint: Path, tokenizer: Any, s: EmbedSettings, facts: Any, name: str,
        sets: Sequence[TrainingSet], described: list[dict[str, Any]],
    ) -> None:  # fmt: skip
        """Write a checkpoint as a cross-encoder without a card, and count the pairs that it cuts."""
        load_head(checkpoint).save_pretrained(folder)
        tokenizer.model_max_length = s.max_seq_len  # where CrossEncoder cuts
        tokenizer.save_pretrained(folder)
        for told, one in zip(described, sets, strict=True):
            pairs = tokenizer(*map(list, zip(*one.texts, strict=True)), return_attention_mask=False, verbose=False)
            told |= {"texts": len(one.texts), "cut": sum(len(ids) > s.max_seq_len for ids in pairs["input_ids"])}
