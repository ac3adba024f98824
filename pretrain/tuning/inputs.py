"""Inputs of a tuning run: base, LoRA, examples as ids, micro-batches of examples of like length, counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset
from transformers import AutoModelForCausalLM, PreTrainedTokenizerBase

from common.errors import UserError
from common.extras import require
from common.names import find
from data.instruct.layout import CHAT_TEMPLATE, user_message
from pretrain.decoders.load import read_base
from pretrain.decoders.prompts import encode_pair, prompt_of, read_tokenizer
from pretrain.tuning.settings import TuneSettings


class Example(NamedTuple):
    """An instruction and its answer: `ids`, of which the first `prompt` are not learned; the end mark is."""

    ids: np.ndarray
    prompt: int
    use: str


class Examples:
    """The examples of a JSON Lines file of data/instruct: `accepted`, `rejects`, and counts by (data set, licence)."""

    def __init__(self, path: Path, tokenizer: PreTrainedTokenizerBase, length: int) -> None:
        self.accepted: list[Example] = []
        self.rejects: list[dict[str, Any]] = []
        self.sets: Counter[tuple[str, str]] = Counter()
        if not path.is_file():
            raise UserError(f"{path} is missing", "tuning reads a build of instructions", "run hunmin instruct build")
        blank = " " if str(tokenizer.chat_template).endswith(CHAT_TEMPLATE) else ""
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            row: Any = None
            try:
                row = json.loads(line)
                prompt = prompt_of(tokenizer, user_message(row["instruction"], row["input"]))
                prompt_ids, answer_ids = encode_pair(tokenizer, prompt, blank + row["output"])
                use, origin = row["task"], (row["dataset"], row["licence"])
                reason = f"more than {length} tokens" if len(prompt_ids) + len(answer_ids) >= length else ""
            except UserError as error:
                reason = error.problem
            except (ValueError, KeyError, TypeError) as error:
                reason = f"no row of instructions ({type(error).__name__})"
            if reason:
                identity = row.get("id") if isinstance(row, dict) else None
                self.rejects.append({"file": path.name, "line": number, "id": identity, "reason": reason})
                continue
            ids = np.array([*prompt_ids, *answer_ids, tokenizer.eos_token_id], np.int32)
            self.accepted.append(Example(ids, len(prompt_ids), use))
            self.sets[origin] += 1


class MicroBatches(Dataset[dict[str, Tensor]]):
    """Micro-batches, an item each, drawn once by a seed; their order is the Trainer's, anew each epoch.

    As many as fill whole steps, of sizes that differ by one at most, so any number of processes shares an epoch evenly.
    Some are empty where examples are few, but never all of a step.
    """

    def __init__(self, examples: Sequence[Example], size: int, per_step: int, seed: int) -> None:
        self.examples = examples
        self.steps = -(-len(examples) // (size * per_step))
        lengths = np.array([len(example.ids) for example in examples])
        order = np.random.default_rng(seed).permutation(len(examples))
        order = order[np.argsort(lengths[order], kind="stable")]
        self.drawn = np.array_split(order, max(self.steps * per_step, 1))

    def __len__(self) -> int:
        return len(self.drawn)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        """Return a model's arguments; of an empty micro-batch nothing is learned."""
        own = [self.examples[i] for i in self.drawn[index]]
        arguments = arguments_of(own or self.examples[:1])
        return arguments if own else {**arguments, "labels": torch.full_like(arguments["labels"], -100)}


def arguments_of(examples: Sequence[Example]) -> dict[str, Tensor]:
    """Return ids, mask and labels; padding is told by position, as its id may be the end mark's."""
    shape = len(examples), max(len(example.ids) for example in examples)
    ids_BL, mask_BL, labels_BL = (torch.full(shape, value) for value in (0, 0, -100))
    for row, (ids, prompt, _) in enumerate(examples):
        ids_BL[row, : len(ids)] = torch.from_numpy(ids)
        mask_BL[row, : len(ids)] = 1
        labels_BL[row, prompt : len(ids)] = ids_BL[row, prompt : len(ids)]
    return {"input_ids": ids_BL, "attention_mask": mask_BL, "labels": labels_BL}


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
        self.config = read_base(self.base, s.max_seq_len)
        self.tokenizer = read_tokenizer(self.base)
        self.train = Examples(instructions / "train.jsonl", self.tokenizer, s.max_seq_len)
        self.held_out = Examples(instructions / "held_out.jsonl", self.tokenizer, s.max_seq_len)
        accepted = self.train.accepted
        self.rejects = self.train.rejects + self.held_out.rejects
        if not accepted:
            raise UserError(f"none of {len(self.train.rejects)} examples is left to train on", "see tune.max_seq_len")
        self.batches = MicroBatches(accepted, s.micro_batch, s.global_batch // s.micro_batch, s.seed)
        held_out = sorted(self.held_out.accepted, key=lambda x: (x.use, len(x.ids)))
        groups = [list(group) for _, group in groupby(held_out, key=lambda x: x.use)]
        self.held_out_batches = [
            use[n : n + s.micro_batch] for use in groups for n in range(0, len(use), s.micro_batch)
        ]
        self.counts: dict[str, Any] = {
            "examples": len(accepted), "held_out": len(self.held_out.accepted), "set_aside": len(self.rejects),
            "tokens": sum(len(x.ids) for x in accepted), "learned_tokens": sum(len(x.ids) - x.prompt for x in accepted),
            "epochs": s.epochs, "steps": self.batches.steps * s.epochs, **parameter_counts(self.config, s),
        }  # fmt: skip
