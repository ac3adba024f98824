"""A causal decoder of transformers: what is taken, and its weights."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM
from transformers.models.auto import modeling_auto as known

from common.errors import UserError
from common.names import shown_name
from pretrain.model_folder import LOCAL, OpenedModel, open_model, quiet, refused

RULE = "a decoder has its head (GPT-NeoX, Llama, Qwen, Gemma …), a tokenizer, and no code of its own"


def open_decoder(folder: Path, changed: bool = False) -> OpenedModel:
    """Return a decoder's configuration and tokenizer; for `changed` and errors see `open_model`."""

    def fits(config: Any) -> None:
        kind, named = config.model_type, config.architectures
        classes = [str(name) for name in named] if isinstance(named, list) else []
        decoders = known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(kind, ())
        decoders = (decoders,) if isinstance(decoders, str) else decoders
        reads = kind in known.MODEL_FOR_MASKED_LM_MAPPING_NAMES or config.is_encoder_decoder
        if reads or not {*decoders} & {*classes}:
            name = shown_name(folder)
            raise UserError(f"{name} is no causal decoder: {', '.join(classes) or kind}", RULE, "name another model")

    opened = open_model(folder, AutoModelForCausalLM, fits, changed)
    with quiet(), refused(folder, "generation_config.json cannot be used"):
        _try_generation(opened)
    return opened


def _try_generation(opened: OpenedModel) -> None:
    """Write one token as a decoder's settings of generation say, by a model of no size: they may fail at any text."""
    shape = {"hidden_size": 2, "intermediate_size": 2, "num_hidden_layers": 1, "num_attention_heads": 1}
    with torch.random.fork_rng(devices=[]):
        stand_in = LlamaForCausalLM(LlamaConfig(vocab_size=opened.rows, tie_word_embeddings=True, **shape))
    stand_in.generation_config = copy.deepcopy(opened.generation)
    tokens = stand_in.generate(torch.zeros(1, 1, dtype=torch.long), max_new_tokens=1, do_sample=False, num_beams=1)
    if not isinstance(tokens, torch.Tensor):
        raise TypeError("return_dict_in_generate is true")


def read_base(folder: Path, length: int, setting: str = "tune.max_seq_len") -> Any:
    """Return a decoder's configuration; raises UserError where it has too few positions, or as `open_decoder`."""
    config = open_decoder(folder).config
    refuse_longer(folder, config, length, setting)
    return config


def refuse_longer(folder: Path, config: Any, length: int, setting: str) -> None:
    """Raise a UserError where a text is longer than a decoder has positions."""
    positions = getattr(config.get_text_config(), "max_position_embeddings", None)
    name = shown_name(folder)
    if positions and length > positions:
        raise UserError(f"{setting} ({length}) is more than the {positions} positions of {name}", "nothing is cut")


def load_model(folder: Path, dtype: torch.dtype | None) -> Any:
    """Return the decoder in a folder that `open_decoder` takes, in fp32 where no type is given."""
    with quiet():
        return AutoModelForCausalLM.from_pretrained(folder, dtype=dtype or torch.float32, **LOCAL)
