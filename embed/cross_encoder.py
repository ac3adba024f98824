"""A cross-encoder in sentence-transformers' Trainer: its weights, its loss, its folder."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import CrossEncoder, CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
from transformers import AutoModelForSequenceClassification

from embed.base import load_encoder
from embed.data import TrainingSet, load_sets
from embed.rerank import labelled_pairs
from embed.save import facts_of, publish_tuned
from embed.settings import EmbedSettings
from embed.trainer import ExactTrainer


class CrossTuner(ExactTrainer, CrossEncoderTrainer):
    """The Trainer of a cross-encoder; see `embed.trainer.Tuner`."""

    arguments: Any = CrossEncoderTrainingArguments

    @staticmethod
    def read_sets(s: EmbedSettings) -> list[TrainingSet]:
        """Return the sets as labelled pairs."""
        return labelled_pairs(load_sets(s))

    @staticmethod
    def begin(s: EmbedSettings, base: Path, out: Path, rank: int, world: int, device: str) -> CrossEncoder:
        """Return the base with a random head."""
        load_encoder(base)  # refuses one that lacks weights
        torch.manual_seed(s.seed)
        return CrossEncoder(
            str(base), num_labels=1, max_length=s.max_seq_len, device=device, local_files_only=True,
            trust_remote_code=False, model_kwargs={"dtype": torch.float32},
        )  # fmt: skip

    @staticmethod
    def loss_by_set(sets: list[TrainingSet], model: Any, *_: Any) -> dict[str, Any]:
        """Return set → binary cross-entropy."""
        return {one.name: BinaryCrossEntropyLoss(model) for one in sets}

    @staticmethod
    def save_folder(
        s: EmbedSettings, base: Path, tokenizer: Any, sets: Sequence[TrainingSet], checkpoint: Path, out: Path,
        counts: dict[str, Any], name: str,
    ) -> None:  # fmt: skip
        """Write `out/model` of the last checkpoint and `out/counts.json`; there is no card."""
        partial = out / ".partial"
        shutil.rmtree(partial, ignore_errors=True)
        load_head(checkpoint).save_pretrained(partial)
        tokenizer.model_max_length = s.max_seq_len  # where CrossEncoder cuts
        tokenizer.save_pretrained(partial)
        for told, one in zip(counts["sets"], sets, strict=True):
            pairs = tokenizer(*map(list, zip(*one.texts, strict=True)), return_attention_mask=False, verbose=False)
            told |= {"texts": len(one.texts), "cut": sum(len(ids) > s.max_seq_len for ids in pairs["input_ids"])}
        publish_tuned(partial, out, facts_of(s, base, sets), counts)

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:
        self.model[0].auto_model.load_state_dict(load_head(Path(checkpoint_path)).state_dict())


def load_head(folder: Path) -> Any:
    """Return a folder's model with its head of one output, in fp32."""
    return AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32, trust_remote_code=False)
