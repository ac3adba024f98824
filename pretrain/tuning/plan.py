"""What a tuning run is before it begins: base, micro-batches, steps; and its size for a dry run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from common.errors import UserError
from common.names import find
from pretrain.precision import resolve_dtype
from pretrain.tuning.base import read_base, with_lora
from pretrain.tuning.batches import MicroBatches
from pretrain.tuning.encode import read_examples, read_tokenizer
from pretrain.tuning.settings import TuneSettings


class Inputs:
    """A run's base, tokenizer and micro-batches.

    Raises:
        UserError: the base or its tokenizer cannot be tuned, or no example is left.
    """

    def __init__(self, s: TuneSettings, instructions: Path) -> None:
        self.base = find(s.base, "model")
        self.config, self.tokenizer = read_base(self.base, s.length), read_tokenizer(self.base)
        self.train = read_examples(instructions / "train.jsonl", self.tokenizer, s.length)
        self.held_out = read_examples(instructions / "held_out.jsonl", self.tokenizer, s.length)
        if not self.train.kept:
            raise UserError(f"none of {len(self.train.rejects)} examples is left to train on", "see tune.length")
        per_step = s.global_batch // s.micro_batch
        self.batches = MicroBatches(self.train.kept, s.micro_batch, per_step, s.seed)
        self.held_batches = MicroBatches(self.held_out.kept, s.micro_batch, 1, s.seed)
        self.rejects = self.train.rejects + self.held_out.rejects
        with torch.device("meta"):
            weights = list(with_lora(AutoModelForCausalLM.from_config(self.config), s).parameters())
        self.counts: dict[str, Any] = {
            "examples": len(self.train.kept),
            "held_out": len(self.held_out.kept),
            "set_aside": len(self.rejects),
            "tokens": sum(len(one.ids) for one in self.train.kept),
            "learned_tokens": sum(len(one.ids) - one.prompt for one in self.train.kept),
            "epochs": s.epochs,
            "steps": self.batches.steps * s.epochs,
            "parameters": sum(weight.numel() for weight in weights),
            "trained_parameters": sum(weight.numel() for weight in weights if weight.requires_grad),
        }


def plan_tuning(settings: TuneSettings, instructions: Path) -> dict[str, Any]:
    """Return a run's examples, tokens (of an epoch), steps, parameters and bytes a device by part; nothing is trained.

    Activations are an estimate: 17 values of a layer's width a token, or one with gradient checkpointing, and logits.

    Args:
        settings: the run.
        instructions: a build of data/instruct.

    Raises:
        UserError: as `Inputs`.
    """
    s, inputs = settings, Inputs(settings, instructions)
    trained, config = inputs.counts["trained_parameters"], inputs.config.get_text_config()
    wide = 4 if resolve_dtype(s.dtype) == "fp32" else 2
    kept = wide if s.zero_stage else 4  # bytes of a trained weight, whose master DeepSpeed keeps beside it
    frozen = (wide if s.lora else 4) * (inputs.counts["parameters"] - trained)
    shared = [s.processes if s.zero_stage >= stage else 1 for stage in range(4)]
    tokens = s.micro_batch * max(len(one.ids) for one in inputs.train.kept)
    layers = config.num_hidden_layers * (1 if s.gradient_checkpointing else 17)
    parts = {
        "weights": (frozen + kept * trained) // shared[3],
        "gradients": kept * trained // shared[2],
        "optimizer": (8 + 4 * bool(s.zero_stage)) * trained // shared[1],
        "activations": tokens * (wide * layers * config.hidden_size + (8 + wide) * config.vocab_size),
    }
    return {**inputs.counts, "bytes": {**parts, "total": sum(parts.values())}}
