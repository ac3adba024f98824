"""What a tuning run begins with: base, LoRA, micro-batches, counts."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from common.errors import UserError
from common.extras import require
from common.names import find
from pretrain.decoders.load import read_base
from pretrain.decoders.prompts import read_tokenizer
from pretrain.tuning.encode import Examples, MicroBatches
from pretrain.tuning.settings import TuneSettings


def beginning(base: Path, checkpoint: Path | None, settings: TuneSettings) -> Path:
    """Return the folder whose weights a model is made with: at a resume of all weights that is the checkpoint.

    The Trainer then loads raw names; weights that transformers renames (GPT-NeoX, Solar Open) would stay the base's.
    """
    return base if checkpoint is None or settings.lora else checkpoint


def with_lora(model: Any, settings: TuneSettings) -> Any:
    """Return a model with LoRA, the rest frozen, where the settings have it; raises UserError without peft."""
    if (lora := settings.lora) is None:
        return model
    require("peft", "tune.lora", "llm")
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(settings.seed)
    shape: Any = {"r": lora.rank, "lora_alpha": lora.alpha, "lora_dropout": lora.dropout}
    return get_peft_model(model, LoraConfig(**shape, target_modules="all-linear", task_type="CAUSAL_LM"))


def parameter_counts(config: Any, settings: TuneSettings) -> dict[str, int]:
    """Return the parameters of a base with the settings' LoRA, and how many of them are trained; nothing is loaded."""
    with torch.device("meta"):
        weights = list(with_lora(AutoModelForCausalLM.from_config(config), settings).parameters())
    trained = sum(weight.numel() for weight in weights if weight.requires_grad)
    return {"parameters": sum(weight.numel() for weight in weights), "trained_parameters": trained}


class Inputs:
    """A run's base, tokenizer, examples, micro-batches and counts; raises UserError where it cannot be tuned."""

    def __init__(self, s: TuneSettings, instructions: Path) -> None:
        self.base = find(s.base, "model")
        self.config, self.tokenizer = read_base(self.base, s.max_seq_len), read_tokenizer(self.base)
        self.train = Examples(instructions / "train.jsonl", self.tokenizer, s.max_seq_len)
        self.held_out = Examples(instructions / "held_out.jsonl", self.tokenizer, s.max_seq_len)
        accepted, self.rejects = self.train.accepted, self.train.rejects + self.held_out.rejects
        if not accepted:
            raise UserError(f"none of {len(self.train.rejects)} examples is left to train on", "see tune.max_seq_len")
        self.batches = MicroBatches(accepted, s.micro_batch, s.global_batch // s.micro_batch, s.seed)
        held_out = sorted(self.held_out.accepted, key=lambda x: (x.use, len(x.ids)))
        groups = [list(group) for _, group in groupby(held_out, key=lambda x: x.use)]
        self.held_out_batches = [of[n : n + s.micro_batch] for of in groups for n in range(0, len(of), s.micro_batch)]
        self.counts: dict[str, Any] = {
            "examples": len(accepted), "held_out": len(self.held_out.accepted), "set_aside": len(self.rejects),
            "tokens": sum(len(x.ids) for x in accepted), "learned_tokens": sum(len(x.ids) - x.prompt for x in accepted),
            "epochs": s.epochs, "steps": self.batches.steps * s.epochs, **parameter_counts(self.config, s),
        }  # fmt: skip
