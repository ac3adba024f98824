"""What can be said of a model folder without loading it: kind, width, positions, fingerprint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.file_facts import file_fact
from common.files import sha256_file
from common.model_files import HEAD_FILE, INDEX, read_object, weight_files
from common.names import shown_name
from common.settings import load_yaml, settings_hash

OFFSET_POSITIONS = (
    *("camembert", "data2vec-text", "longformer", "roberta", "roberta-prelayernorm", "xlm-roberta", "xmod"),
)
"""Model types whose position ids start at pad id + 1, so that so many rows of the table hold no position."""
TOKENIZER_FILES = (
    *("tokenizer.json", "vocab.txt", "spiece.model", "spm.model", "sentencepiece.bpe.model", "vocab.json"),
    "merges.txt",
)
BESIDE_TOKENIZER = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
HEADED = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice")
"""How the library's classes end whose weights hold a task's head."""


@dataclass(frozen=True)
class ModelFacts:
    """What fine-tuning needs to know of a model folder beforehand."""

    folder: Path
    name: str
    """Name of the model: by its recipe, on the hub, or by its folder."""
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
    """Return the facts about an encoder in a folder. Raises UserError for another model, and as `open_model`."""

    from pretrain.model_folder import open_model

    config = open_model(folder, fits=lambda config: _refuse_unserved(folder, config)).config
    pad_id = config.pad_token_id or 0
    first = pad_id + 1 if config.model_type in OFFSET_POSITIONS else 0
    positions = config.max_position_embeddings - first
    if positions < 1:
        raise UserError(
            f"{folder}/config.json: max_position_embeddings is {config.max_position_embeddings}, and the first "
            f"position id {first}",
            "a text has a position",
            "name another model",
        )
    beside = [folder / name for name in (*TOKENIZER_FILES, *BESIDE_TOKENIZER)]
    described = [folder / "config.json", *(path for path in beside if path.is_file())]
    weights = [*folder.glob(INDEX), *weight_files(folder), *folder.glob(HEAD_FILE)]
    return ModelFacts(
        folder=folder,
        name=_name(folder),
        hidden_size=config.hidden_size,
        max_positions=positions,
        vocab_size=config.vocab_size,
        pad_id=pad_id,
        token_types=(getattr(config, "type_vocab_size", 0) or 0) > 1,
        family=str(config.model_type),
        architecture_hash=settings_hash([sha256_file(path) for path in described]),
        weights_hash=settings_hash([file_fact(path, "sha256", sha256_file) for path in weights]),
    )


def is_finetuned(folder: Path) -> bool:
    """Return whether the folder's weights hold the head of a task that they were fine-tuned for."""
    return any(name.endswith(HEADED) for name in _names(read_object(folder / "config.json").get("architectures")))


def _names(architectures: Any) -> list[str]:
    return [str(name) for name in architectures] if isinstance(architectures, list) else []


def _refuse_unserved(folder: Path, config: Any) -> None:
    from transformers.models.auto import modeling_auto

    names, kind = _names(config.architectures), config.model_type
    writes = any(name.endswith(("ForCausalLM", "LMHeadModel")) for name in names)
    causal, masked = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    if getattr(config, "is_decoder", False) or writes or (kind in causal and kind not in masked):
        raise UserError(f"{folder} holds a decoder ({', '.join(names) or kind})", "fine-tuning takes encoder models")
    if getattr(config, "is_encoder_decoder", False):
        raise UserError(f"{folder} holds an encoder with a decoder ({kind})", "fine-tuning takes encoder models")
    for name in ("hidden_size", "max_position_embeddings", "vocab_size"):
        if getattr(config, name, None) is None:
            raise UserError(
                f"{folder} is of the family {kind}, which is not served: its configuration has no {name}",
                "an encoder states its width, positions and vocabulary",
                "take a model of another family: bert, roberta, electra …",
            )


def _name(folder: Path) -> str:
    recipe = folder / "hunmin-recipe.yaml"
    if recipe.is_file():
        return str(load_yaml(recipe).get("name", folder.name))
    return shown_name(folder)
