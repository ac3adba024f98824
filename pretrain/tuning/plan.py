"""A tuning run before it begins: base, micro-batches, counts; for a dry run the bytes of a device, too."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from common.errors import UserError
from common.names import find
from pretrain.kernels.precision import half_type
from pretrain.tuning.base import read_base, with_lora
from pretrain.tuning.encode import Examples, MicroBatches, read_tokenizer
from pretrain.tuning.settings import TuneSettings


class Inputs:
    """A run's base, tokenizer, examples, micro-batches and counts; raises UserError where it cannot be tuned."""

    def __init__(self, s: TuneSettings, instructions: Path) -> None:
        self.base = find(s.base, "model")
        self.config, self.tokenizer = read_base(self.base, s.max_seq_len), read_tokenizer(self.base)
        self.train = Examples(instructions / "train.jsonl", self.tokenizer, s.max_seq_len)
        self.held_out = Examples(instructions / "held_out.jsonl", self.tokenizer, s.max_seq_len)
        kept, self.rejects = self.train.kept, self.train.rejects + self.held_out.rejects
        if not kept:
            raise UserError(f"none of {len(self.train.rejects)} examples is left to train on", "see tune.max_seq_len")
        self.batches = MicroBatches(kept, s.micro_batch, s.global_batch // s.micro_batch, s.seed)
        by_use = groupby(sorted(self.held_out.kept, key=lambda x: (x.use, len(x.ids))), key=lambda x: x.use)
        groups = [list(group) for _, group in by_use]
        self.held_out_batches = [of[n : n + s.micro_batch] for of in groups for n in range(0, len(of), s.micro_batch)]
        with torch.device("meta"):
            weights = list(with_lora(AutoModelForCausalLM.from_config(self.config), s).parameters())
        self.counts: dict[str, Any] = {
            "examples": len(kept), "held_out": len(self.held_out.kept), "set_aside": len(self.rejects),
            "tokens": sum(len(one.ids) for one in kept), "learned_tokens": sum(len(x.ids) - x.prompt for x in kept),
            "epochs": s.epochs, "steps": self.batches.steps * s.epochs, "parameters": sum(w.numel() for w in weights),
            "trained_parameters": sum(weight.numel() for weight in weights if weight.requires_grad),
        }  # fmt: skip


def plan_tuning(settings: TuneSettings, instructions: Path) -> dict[str, Any]:
    """Return a run's examples, tokens of an epoch, steps, parameters and bytes of a device; nothing is trained.

    Activations are an estimate: 17 values of a layer's width a token, or one with gradient checkpointing, and logits.

    Raises:
        UserError: as `Inputs`.
    """
    s, inputs = settings, Inputs(settings, instructions)
    counts, config = inputs.counts, inputs.config.get_text_config()
    trained, frozen = counts["trained_parameters"], counts["parameters"] - counts["trained_parameters"]
    wide = 2 if half_type(s.dtype) else 4
    kept = wide if s.zero_stage else 4  # DeepSpeed has a master of each trained weight beside it
    shared = [s.processes if s.zero_stage >= stage else 1 for stage in range(4)]
    layers = config.num_hidden_layers * (1 if s.gradient_checkpointing else 17)
    values = wide * layers * config.hidden_size + (8 + wide) * config.vocab_size
    parts = {
        "weights": (wide * frozen + kept * trained) // shared[3],
        "gradients": kept * trained // shared[2],
        "optimizer": (8 + 4 * bool(s.zero_stage)) * trained // shared[1],
        "activations": s.micro_batch * max(len(one.ids) for one in inputs.train.kept) * values,
    }
    return {**counts, "bytes": {**parts, "total": sum(parts.values())}}
