"""The base: what can be tuned, its weights at a start and at a resume, LoRA beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.models.auto import modeling_auto as known

from common.errors import UserError
from common.extras import pip_install
from common.names import shown_name
from pretrain.tuning.settings import TuneSettings

RULE = "a base is a decoder with its head (GPT-NeoX, Llama, Qwen, Gemma …) that transformers loads without remote code"


def read_base(folder: Path, length: int, what: str = "tune.max_seq_len") -> Any:
    """Return a decoder's configuration; UserError where it breaks `RULE` or has too few positions."""
    name, kind, classes = shown_name(folder), "", []
    try:
        written = json.loads((folder / "config.json").read_bytes())
        kind, classes = str(written["model_type"]), list(written.get("architectures") or [])
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # of many kinds
        reason = (str(error).splitlines() or [""])[0]
        raise UserError(f"{name} ({kind or 'no type'}) does not load: {reason}", RULE, "name another base") from None
    decoders = known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(kind, ())
    decoders = {decoders} if isinstance(decoders, str) else set(decoders)
    if kind in known.MODEL_FOR_MASKED_LM_MAPPING_NAMES or not decoders & set(classes):
        raise UserError(f"{name} is no causal decoder: {', '.join(classes) or kind}", RULE, "name another base")
    positions = getattr(config.get_text_config(), "max_position_embeddings", None)
    if positions and length > positions:
        raise UserError(f"{what} ({length}) is more than the {positions} positions of {name}", "nothing is cut")
    return config


def beginning(base: Path, checkpoint: Path | None, settings: TuneSettings) -> Path:
    """Return the folder whose weights a model is made with: at a resume of all weights that is the checkpoint.

    The Trainer then loads raw names; weights that transformers renames (GPT-NeoX, Solar Open) would stay the base's.
    """
    return base if checkpoint is None or settings.lora else checkpoint


def load_model(folder: Path, dtype: torch.dtype | None) -> Any:
    """Return the decoder in a folder, in fp32 where no type is given; raises UserError where weights are missing."""
    model, info = AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype or torch.float32, trust_remote_code=False, output_loading_info=True
    )
    if lacking := ", ".join(sorted(info["missing_keys"])[:3]):
        raise UserError(f"{shown_name(folder)} lacks weights: {lacking}", "none begins at random", "fetch it again")
    return model


def with_lora(model: Any, settings: TuneSettings) -> Any:
    """Return a model with LoRA, the rest frozen, where the settings have it; raises UserError without peft."""
    if (lora := settings.lora) is None:
        return model
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise UserError("tune.lora needs the package peft", remedy=pip_install("llm")) from None
    torch.manual_seed(settings.seed)
    config = LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, lora_dropout=lora.dropout, target_modules="all-linear",
        task_type="CAUSAL_LM",
    )  # fmt: skip
    return get_peft_model(model, config)
