"""What can be said of a model folder without loading it: kind, width, positions, fingerprint."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import sha256_file
from common.manifest import refuse_damaged
from common.names import shown_name
from common.settings import load_yaml, settings_hash

OFFSET_POSITIONS = (
    *("camembert", "data2vec-text", "longformer", "roberta", "roberta-prelayernorm", "xlm-roberta", "xmod"),
)
"""Model types whose position ids start at pad id + 1, so that so many rows of the table hold no position."""
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")
TOKENIZER_FILES = (
    *("tokenizer.json", "vocab.txt", "spiece.model", "spm.model", "sentencepiece.bpe.model", "vocab.json"),
    "merges.txt",
)
BESIDE_TOKENIZER = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
HEADED = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice")
"""How the library's classes end whose weights hold a task's head."""
HEAD_FILE = "head.safetensors"
"""Weights of a head that is none of the library's, in a folder that fine-tuning left."""
RULE = "a model is a folder with config.json, weights and a tokenizer, as `hunmin export` writes it"


@dataclass(frozen=True)
class ModelFacts:
    """What fine-tuning needs to know of a model folder beforehand."""

    folder: Path
    name: str
    """What the model is called: by its recipe, on the hub, or by its folder."""
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
    family: str
    """The library's name of the model's type: "bert", "xlm-roberta" …"""

    def hash_for(self, init: str) -> str:
        """Return what identifies all of the model that a job depends on; with init "random" it takes no weights."""
        return settings_hash([self.architecture_hash, self.weights_hash if init == "pretrained" else ""])


def read_model_folder(folder: Path) -> ModelFacts:
    """Return the facts about an encoder in a local folder.

    Raises:
        UserError: the folder lacks a configuration, weights or tokenizer, transformers does not take the
            configuration, or the model is no encoder.
        HunminError: it is a run's export, and files have changed since.
    """
    written = read_config(folder)
    if written is None:
        raise UserError(f"{folder} has no readable config.json", RULE, "name an exported model's folder")
    weights = [folder / name for name in WEIGHTS if (folder / name).is_file()]
    tokenizer = [folder / name for name in TOKENIZER_FILES if (folder / name).is_file()]
    if not weights:
        raise UserError(f"{folder} has no weights ({', '.join(WEIGHTS)})", RULE, "export the model again")
    if not tokenizer:
        raise UserError(f"{folder} has no tokenizer", RULE, "save the tokenizer of the model into the folder")
    refuse_damaged(folder, "export again; of a folder changed on purpose, remove manifest.json")
    config = _configuration(folder, written)
    pad_id = 0 if getattr(config, "pad_token_id", None) is None else _whole(folder, config, "pad_token_id")
    positions = _whole(folder, config, "max_position_embeddings")
    if config.model_type in OFFSET_POSITIONS:
        positions -= pad_id + 1
    beside = [folder / name for name in BESIDE_TOKENIZER]
    described = [folder / "config.json", *tokenizer, *(path for path in beside if path.is_file())]
    return ModelFacts(
        folder=folder,
        name=_name(folder),
        hidden_size=_whole(folder, config, "hidden_size"),
        max_positions=positions,
        vocab_size=_whole(folder, config, "vocab_size"),
        pad_id=pad_id,
        token_types=bool(getattr(config, "type_vocab_size", 0)) and _whole(folder, config, "type_vocab_size") > 1,
        family=str(config.model_type),
        architecture_hash=settings_hash([sha256_file(path) for path in described]),
        weights_hash=settings_hash(
            [sha256_file(p) for p in [*weights, *sorted(folder.glob("model-*-of-*")), *folder.glob(HEAD_FILE)]]
        ),
    )


def read_config(folder: Path) -> dict[str, Any] | None:
    """Return what a folder's config.json says, as it is written; None where there is none, or it is no object."""
    try:
        written = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError):
        return None
    return written if isinstance(written, dict) else None


def is_finetuned(folder: Path) -> bool:
    """Return whether the folder's weights hold the head of a task that they were fine-tuned for."""
    named = (read_config(folder) or {}).get("architectures") or []
    return any(str(name).endswith(HEADED) for name in named)


def check_weights(folder: Path) -> None:
    """Look whether the weights are whole, as far as that is seen without reading them. Raises UserError where a file of
    weights (safetensors) is damaged, cut short or missing."""
    from safetensors import SafetensorError, safe_open

    file, index = folder / WEIGHTS[0], folder / WEIGHTS[1]
    if not file.is_file() and not index.is_file():
        return  # an older format, which says nothing before it is read
    try:
        names = {file.name}
        if not file.is_file():
            file = index
            names = set(json.loads(index.read_bytes())["weight_map"].values())
        for file in (folder / name for name in sorted(names)):
            with safe_open(file, framework="np"):
                pass
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{file} is damaged, cut short or missing: {error}", RULE, "fetch or export the model again"
        ) from None


def _configuration(folder: Path, written: dict[str, Any]) -> Any:
    """Return the configuration as transformers reads it; raises UserError when it does not, or for no encoder."""
    from transformers import AutoConfig

    named, kind = written.get("architectures"), str(written.get("model_type", ""))
    names = [str(name) for name in named] if isinstance(named, list) else []
    writes = any(name.endswith(("ForCausalLM", "LMHeadModel")) for name in names)
    if written.get("is_decoder") or writes or _is_decoder(kind):
        raise UserError(f"{folder} holds a decoder ({', '.join(names) or kind})", "fine-tuning takes encoder models")
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        reason = " ".join(str(error).split()).split(". ")[0] or type(error).__name__
        raise UserError(f"{folder}/config.json does not load: {reason}", RULE, "name another model") from None
    if getattr(config, "is_encoder_decoder", False):
        raise UserError(f"{folder} holds an encoder with a decoder ({kind})", "fine-tuning takes encoder models")
    return config


def _whole(folder: Path, config: Any, name: str) -> int:
    """Return a whole number of the configuration; raises UserError when it is none, or not there."""
    value = getattr(config, name, None)
    if value is None:
        raise UserError(
            f"{folder} is of the family {config.model_type}, which is not served: its configuration has no {name}",
            "an encoder states its width, positions and vocabulary",
            "take a model of another family: bert, roberta, electra …",
        )
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UserError(f"{folder}/config.json: {name} is {value!r}", f"{name} is a whole number", "name another model")
    return value


def _name(folder: Path) -> str:
    """Return what a model is called."""
    recipe = folder / "hunmin-recipe.yaml"
    if recipe.is_file():
        return str(load_yaml(recipe).get("name", folder.name))
    return shown_name(folder)


def _is_decoder(kind: str) -> bool:
    """Return whether the library has models of this type that write text, and none that fill in masks."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    return kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES
