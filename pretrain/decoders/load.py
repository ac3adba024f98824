"""A causal decoder of transformers: what is taken, and its weights."""

from __future__ import annotations

import json
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.models.auto import modeling_auto as known

from common.errors import UserError
from common.names import TOKENIZERS, shown_name

RULE = "a decoder has its head (GPT-NeoX, Llama, Qwen, Gemma …), a tokenizer, and no code of its own"


def check_decoder(folder: Path) -> Any:
    """Return a decoder's configuration, for tuning, scoring and answers; UserError where it breaks `RULE`."""
    name, kind, classes = shown_name(folder), "", []
    try:
        written = json.loads((folder / "config.json").read_bytes())
        kind, classes = str(written["model_type"]), list(written.get("architectures") or [])
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # of many kinds
        reason = (str(error).splitlines() or [""])[0]
        reason += "; it is an adapter: merge it into its base" * (folder / "adapter_config.json").is_file()
        raise UserError(f"{name} ({kind or 'no type'}) does not load: {reason}", RULE, "name another model") from None
    decoders = known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(kind, ())
    decoders = {decoders} if isinstance(decoders, str) else set(decoders)
    if kind in known.MODEL_FOR_MASKED_LM_MAPPING_NAMES or not decoders & set(classes):
        raise UserError(f"{name} is no causal decoder: {', '.join(classes) or kind}", RULE, "name another model")
    if not any(fnmatch(path.name, pattern) for path in folder.iterdir() for pattern in TOKENIZERS):
        raise UserError(f"{name} holds no tokenizer", f"it is one of {', '.join(TOKENIZERS)}", "add it")
    return config


def read_base(folder: Path, length: int, what: str = "tune.max_seq_len") -> Any:
    """Return a decoder's configuration; UserError where it breaks `RULE` or has too few positions."""
    config, name = check_decoder(folder), shown_name(folder)
    positions = getattr(config.get_text_config(), "max_position_embeddings", None)
    if positions and length > positions:
        raise UserError(f"{what} ({length}) is more than the {positions} positions of {name}", "nothing is cut")
    return config


def load_model(folder: Path, dtype: torch.dtype | None) -> Any:
    """Return the decoder in a folder, in fp32 where no type is given; raises UserError where weights are missing."""
    model, info = AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype or torch.float32, trust_remote_code=False, output_loading_info=True
    )
    if lacking := ", ".join(sorted(info["missing_keys"])[:3]):
        raise UserError(f"{shown_name(folder)} lacks weights: {lacking}", "none begins at random", "fetch it again")
    return model
