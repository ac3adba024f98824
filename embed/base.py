"""The encoder that is tuned, and folders of sentence embeddings in the form that all versions read."""

from __future__ import annotations

import inspect
import json
import shutil
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.models.auto.modeling_auto import MODEL_MAPPING

from common.errors import UserError
from common.names import shown_name
from embed.settings import EmbedSettings, PromptSettings
from klue.model_folder import OFFSET_POSITIONS, ModelFacts, is_finetuned, read_model_folder
from pretrain.export.sentence_embeddings import POOLING, write_embedding_files


def read_base(folder: Path, settings: EmbedSettings) -> tuple[ModelFacts, Any]:
    """Return what is said of a base, and its tokenizer.

    Raises:
        UserError: it does not load, is a decoder or a fine-tuned head, or is too small for the settings.
    """
    facts, name = read_model_folder(folder), shown_name(folder)
    if is_finetuned(folder):
        raise UserError(f"{name} has the head of a fine-tuned model", remedy="name the pretrained model (embed.base)")
    if settings.max_seq_len > facts.max_positions:
        raise UserError(
            f"embed.max_seq_len ({settings.max_seq_len}) is more than the {facts.max_positions} positions of {name}",
            remedy=f"set embed.max_seq_len={facts.max_positions} at most",
        )
    if wide := [width for width in settings.matryoshka if width >= facts.hidden_size]:
        raise UserError(
            f"embed.matryoshka has width {wide[0]}, the hidden size of {name} is {facts.hidden_size}",
            "a cut vector is narrower than the whole one", "take that width out",
        )  # fmt: skip
    return facts, AutoTokenizer.from_pretrained(folder, trust_remote_code=False)


def usable_positions(config: Any) -> int:
    """Return the tokens of the longest text."""
    first = config.pad_token_id + 1 if config.model_type in OFFSET_POSITIONS else 0
    return int(config.max_position_embeddings) - first


def without_pooler(folder: Path) -> dict[str, Any]:
    """Return the argument by which a folder's model is made without a pooler; {} for classes that have none."""
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    takes = inspect.signature(MODEL_MAPPING[type(config)].__init__).parameters
    return {"add_pooling_layer": False} if "add_pooling_layer" in takes else {}


def load_encoder(folder: Path) -> Any:
    """Return a folder's encoder in fp32, without a pooler, which nothing would train.

    Raises:
        UserError: it lacks weights.
    """
    model, info = AutoModel.from_pretrained(
        folder, dtype=torch.float32, trust_remote_code=False, output_loading_info=True, **without_pooler(folder)
    )
    if lacking := ", ".join(sorted(info["missing_keys"])[:3]):
        raise UserError(f"{shown_name(folder)} lacks weights: {lacking}", "none begins at random", "fetch it again")
    return model


def write_model(folder: Path, encoder: Any, tokenizer: Any, settings: EmbedSettings, prompts: PromptSettings) -> None:
    """Write a model with the settings' pooling and length, as sentence-transformers of any version, vLLM, TEI and
    llama.cpp read it."""
    encoder.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    given = prompts.model_dump() if prompts != PromptSettings() else {}
    write_embedding_files(folder, encoder.config.hidden_size, settings.max_seq_len, settings.pooling, given)


def load_model(folder: Path, device: str | None = None, truncate: int | None = None) -> Any:
    """Return a folder's model of sentence-transformers, its vectors cut to `truncate` entries.

    Raises:
        UserError: it is none.
    """
    from sentence_transformers import SentenceTransformer

    if not (folder / "modules.json").is_file():
        raise UserError(
            f"{folder} is no model of sentence embeddings", "such a folder has a modules.json",
            "tune one (hunmin embed train), or export with --sentence-embeddings",
        )  # fmt: skip
    return SentenceTransformer(
        str(folder), device=device, truncate_dim=truncate, local_files_only=True, trust_remote_code=False,
        model_kwargs=without_pooler(folder),
    )  # fmt: skip


def embedding_folder(base: Path, out: Path, settings: EmbedSettings, weights: str = "base") -> Path:
    """Write an untuned base, or "random" weights of its shape, as a model of sentence embeddings; return its folder."""
    shutil.rmtree(out, ignore_errors=True)
    encoder = load_encoder(base)
    if weights == "random":
        torch.manual_seed(settings.seed)
        encoder = type(encoder)(encoder.config, **without_pooler(base))
    tokenizer = AutoTokenizer.from_pretrained(base, trust_remote_code=False)
    write_model(out, encoder, tokenizer, settings, settings.data[0].prompts)
    return out


def shape_of(folder: Path) -> EmbedSettings:
    """Return pooling, length and prompts of a model's folder, as settings whose data are not read.

    Raises:
        UserError: its pooling is neither the mean nor the first token.
    """
    names = (POOLING, "sentence_bert_config.json", "config_sentence_transformers.json")
    pooling, bounds, written = (json.loads((folder / name).read_bytes()) for name in names)
    on = [name.removeprefix("pooling_mode_") for name, value in pooling.items() if "pooling_mode" in name and value]
    mode = {"mean_tokens": "mean", "cls_token": "cls"}.get(on[0] if len(on) == 1 else "", pooling.get("pooling_mode"))
    if mode not in ("mean", "cls"):
        raise UserError(f"{folder} pools by {mode or ', '.join(on)}", "only mean and cls are known")
    prompts = {name: (written.get("prompts") or {}).get(name) or "" for name in ("query", "document")}
    length = bounds.get("max_seq_length") or 512
    data = [{"path": str(folder), "prompts": prompts}]
    return EmbedSettings.model_validate({"pooling": mode, "max_seq_len": length, "data": data})
