"""What can be said of a model folder without loading it: kind, width, positions, fingerprint."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError
from common.files import sha256_file
from common.settings import settings_hash

OFFSET_POSITIONS = (
    "camembert",
    "data2vec-text",
    "longformer",
    "roberta",
    "roberta-prelayernorm",
    "xlm-roberta",
    "xmod",
)
"""Model types whose position ids start at pad id + 1, so that so many rows of the table hold no position."""
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "spiece.model", "sentencepiece.bpe.model")
RULE = "a model is a folder with config.json, weights and a tokenizer, as `hunmin export` writes it"


@dataclass(frozen=True)
class ModelFacts:
    """What fine-tuning needs to know of a model folder beforehand."""

    folder: Path
    hidden_size: int
    max_positions: int
    """Longest input in tokens."""
    vocab_size: int
    pad_id: int
    token_types: bool
    """Whether the second text of a pair has a token type of its own."""
    architecture_hash: str
    """Identifies the configuration and the tokenizer."""
    weights_hash: str
    """Identifies the weights."""


def read_model_folder(folder: Path) -> ModelFacts:
    """Return the facts about an encoder in a local folder.

    Raises:
        UserError: the folder lacks a configuration, weights or tokenizer, or holds a decoder.
    """
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError):
        raise UserError(f"{folder} has no readable config.json", RULE, "name an exported model's folder") from None
    weights = [folder / name for name in WEIGHTS if (folder / name).is_file()]
    tokenizer = [folder / name for name in TOKENIZER_FILES if (folder / name).is_file()]
    if not weights:
        raise UserError(f"{folder} has no weights ({', '.join(WEIGHTS)})", RULE, "export the model again")
    if not tokenizer:
        raise UserError(f"{folder} has no tokenizer", RULE, "save the tokenizer of the model into the folder")
    architectures = config.get("architectures") or []
    kind = str(config.get("model_type", ""))
    writes = any(name.endswith(("ForCausalLM", "LMHeadModel")) for name in architectures)
    if config.get("is_decoder") or writes or _is_decoder(kind):
        raise UserError(
            f"{folder} holds a decoder ({', '.join(architectures) or kind})", "fine-tuning takes encoder models"
        )
    try:
        positions, vocab_size = int(config["max_position_embeddings"]), int(config["vocab_size"])
        hidden_size = int(config["hidden_size"] if "hidden_size" in config else config["dim"])  # dim: DistilBERT
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{folder}/config.json gives no {error}", RULE) from None
    pad_id = config.get("pad_token_id")
    pad_id = 0 if pad_id is None else int(pad_id)
    if config.get("model_type") in OFFSET_POSITIONS:
        positions -= pad_id + 1
    beside = [folder / "tokenizer_config.json", folder / "special_tokens_map.json"]
    described = [folder / "config.json", *tokenizer, *(path for path in beside if path.is_file())]
    return ModelFacts(
        folder=folder,
        hidden_size=hidden_size,
        max_positions=positions,
        vocab_size=vocab_size,
        pad_id=pad_id,
        token_types=int(config.get("type_vocab_size") or 0) > 1,
        architecture_hash=settings_hash([sha256_file(path) for path in described]),
        weights_hash=settings_hash([sha256_file(path) for path in [*weights, *sorted(folder.glob("model-*-of-*"))]]),
    )


def _is_decoder(kind: str) -> bool:
    """Return whether the library has models of this type that write text, and none that fill in masks."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    return kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES
