"""A causal decoder of transformers: what is taken, and its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM
from transformers.models.auto import modeling_auto as known

from common.errors import UserError
from common.names import shown_name
from pretrain.model_folder import LOCAL, OpenedModel, open_model

RULE = "a decoder has its head (GPT-NeoX, Llama, Qwen, Gemma …), a tokenizer, and no code of its own"


def open_decoder(folder: Path, changed: bool = False) -> OpenedModel:
    """Return a decoder's configuration and tokenizer; for `changed` and errors see `open_model`."""

    def fits(config: Any) -> None:
        kind, named = config.model_type, config.architectures
        classes = [str(name) for name in named] if isinstance(named, list) else []
        decoders = known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(kind, ())
        decoders = (decoders,) if isinstance(decoders, str) else decoders
        if kind in known.MODEL_FOR_MASKED_LM_MAPPING_NAMES or not {*decoders} & {*classes}:
            name = shown_name(folder)
            raise UserError(f"{name} is no causal decoder: {', '.join(classes) or kind}", RULE, "name another model")

    return open_model(folder, AutoModelForCausalLM, fits, changed)


def read_base(folder: Path, length: int, what: str = "tune.max_seq_len") -> Any:
    """Return a decoder's configuration; raises UserError where it has too few positions, or as `open_decoder`."""
    config = open_decoder(folder).config
    refuse_longer(folder, config, length, what)
    return config


def refuse_longer(folder: Path, config: Any, length: int, what: str) -> None:
    """Raise a UserError where a text is longer than a decoder has positions."""
    positions, name = getattr(config.get_text_config(), "max_position_embeddings", None), shown_name(folder)
    if positions and length > positions:
        raise UserError(f"{what} ({length}) is more than the {positions} positions of {name}", "nothing is cut")


def load_model(folder: Path, dtype: torch.dtype | None) -> Any:
    """Return the decoder in a folder that `open_decoder` takes, in fp32 where no type is given."""
    return AutoModelForCausalLM.from_pretrained(folder, dtype=dtype or torch.float32, **LOCAL)
