"""The base: what can be tuned, its weights at a start and at a resume, LoRA beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

from common.errors import UserError
from common.names import shown_name
from pretrain.tuning.settings import LoraSettings


def read_base(folder: Path, length: int) -> Any:
    """Return a base's configuration.

    Args:
        folder: of the base.
        length: ids that it has to take.

    Raises:
        UserError: it is no causal decoder, needs code of the folder, or has fewer positions.
    """
    name = shown_name(folder)
    try:
        written = json.loads((folder / "config.json").read_bytes())
        kind, classes = str(written["model_type"]), [str(one) for one in written.get("architectures") or []]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UserError(
            f"{folder} has no readable config.json", "a base is a transformers folder", "fix tune.base"
        ) from None
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # of many kinds
        raise UserError(
            f"{name} ({kind}) does not load without code of its own: {(str(error).splitlines() or [''])[0]}",
            "code in a model's folder is never run",
            "name a base that transformers has itself, or update transformers",
        ) from None
    known = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(kind, ())
    decoders = {known} if isinstance(known, str) else set(known)
    if kind in MODEL_FOR_MASKED_LM_MAPPING_NAMES or not decoders & set(classes):
        raise UserError(
            f"{name} is no causal decoder ({', '.join(classes) or kind})",
            "tuning takes models that write text: GPT-NeoX, Llama, Qwen, Gemma and their like, with their head",
            "name another tune.base",
        )
    positions = getattr(config.get_text_config(), "max_position_embeddings", None)
    if positions and length > positions:
        raise UserError(
            f"tune.length ({length}) is more than the {positions} positions of {name}",
            "an example has a position for each token",
            f"set tune.length={positions}",
        )
    return config


def beginning(base: Path, checkpoint: Path | None, lora: LoraSettings | None) -> Path:
    """Return the folder whose weights a model is made with.

    At a resume of all weights it is the checkpoint: the Trainer then loads raw names, by which those that
    transformers renames (GPT-NeoX, Solar Open) are not found and would stay the base's.
    """
    return base if checkpoint is None or lora else checkpoint


def load_model(folder: Path, dtype: torch.dtype) -> PreTrainedModel:
    """Return the decoder in a folder.

    Raises:
        UserError: weights are missing, or the class takes no loss over a whole global batch.
    """
    model, info = AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, trust_remote_code=False, output_loading_info=True
    )
    if info["missing_keys"]:
        raise UserError(
            f"{shown_name(folder)} lacks weights: {', '.join(sorted(info['missing_keys'])[:3])}",
            "weights that are missing would begin at random",
            "fetch or export the model again",
        )
    return model  # type: ignore[no-any-return]


def with_lora(model: PreTrainedModel, lora: LoraSettings, seed: int) -> Any:
    """Return a model with LoRA beside every linear layer but the head; the rest is frozen.

    Raises:
        UserError: peft is not installed.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise UserError("tune.lora needs peft", "LoRA is peft's", "pip install 'hunmin[llm]'") from None
    torch.manual_seed(seed)
    config = LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, lora_dropout=lora.dropout, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    return get_peft_model(model, config)
