"""The encoder that is tuned: what can be one, its weights for sentence-transformers, files in the form all read."""

from __future__ import annotations

import inspect
import json
import shutil
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedTokenizerBase
from transformers.models.auto import modeling_auto as known

from common.errors import UserError
from common.files import atomic_write
from common.names import find, shown_name
from embed.settings import EmbedSettings, PromptSettings

RULE = "a base is an encoder (BERT, RoBERTa, ELECTRA, ModernBERT …) that transformers loads without remote code"
HEADS = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice")


def read_base(folder: Path, settings: EmbedSettings) -> tuple[Any, PreTrainedTokenizerBase]:
    """Return configuration and tokenizer of a base.

    Args:
        folder: with the model.
        settings: length and widths that it must have.

    Raises:
        UserError: it does not load, is a decoder or a fine-tuned head, or is too small for the settings.
    """
    name = shown_name(folder)
    try:
        written = json.loads((folder / "config.json").read_bytes())
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # of many kinds
        reason = (str(error).splitlines() or [""])[0]
        raise UserError(f"{name} does not load: {reason}", RULE, "name another base (embed.base)") from None
    classes = [str(one) for one in written.get("architectures") or []]
    heads = [one for one in classes if one.endswith(HEADS)]
    if heads:
        raise UserError(f"{name} has the head of a fine-tuned model ({heads[0]})", RULE, "name the pretrained model")
    masked = {*known.MODEL_FOR_MASKED_LM_MAPPING_NAMES, *known.MODEL_FOR_PRETRAINING_MAPPING_NAMES}
    causal = config.model_type in known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if getattr(config, "is_decoder", False) or config.model_type not in masked or (
        causal and config.model_type not in known.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    ):  # fmt: skip
        raise UserError(f"{name} is no encoder: {', '.join(classes) or config.model_type}", RULE, "name an encoder")
    if (positions := usable_positions(config)) and settings.length > positions:
        raise UserError(
            f"embed.length ({settings.length}) is more than the {positions} positions of {name}",
            remedy=f"set embed.length={positions} at most",
        )
    if wide := [width for width in settings.matryoshka if width >= config.hidden_size]:
        raise UserError(
            f"embed.matryoshka has width {wide[0]}, the hidden size of {name} is {config.hidden_size}",
            "a cut vector is narrower than the whole one", "take that width out",
        )  # fmt: skip
    return config, tokenizer


def usable_positions(config: Any) -> int | None:
    """Return the tokens of the longest text; None for a model without a table of positions."""
    with torch.device("meta"):
        model = AutoModel.from_config(config, trust_remote_code=False)
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            return module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1)
    limit = getattr(config, "max_position_embeddings", None)
    return int(limit) if limit else None


def without_pooler(folder: Path) -> dict[str, Any]:
    """Return the argument by which a folder's model is made without a pooler; {} for classes that have none."""
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    takes = inspect.signature(known.MODEL_MAPPING[type(config)].__init__).parameters
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
    """Write a model as sentence-transformers of any version, vLLM, TEI and llama.cpp read it: old module names,
    booleans of the pooling.

    Args:
        folder: to write.
        encoder: its weights.
        tokenizer: of the base.
        settings: pooling and length.
        prompts: of queries and documents.
    """
    encoder.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    modes = {f"pooling_mode_{name}": name.startswith(settings.pooling) for name in (
        "cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")}  # fmt: skip
    modes["pooling_mode_mean_sqrt_len_tokens"] = False
    contents: dict[str, Any] = {
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        ],
        "sentence_bert_config.json": {"max_seq_length": settings.length, "do_lower_case": False},
        "config_sentence_transformers.json": {
            "prompts": prompts.model_dump() if any(prompts.model_dump().values()) else {},
            "default_prompt_name": None, "similarity_fn_name": "cosine",
        },
        "1_Pooling/config.json": {"word_embedding_dimension": encoder.config.hidden_size, **modes},
    }  # fmt: skip
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(folder / name) as stream:
            json.dump(content, stream, ensure_ascii=False, indent=1)
            stream.write("\n")


def load_model(folder: Path, device: str | None = None, truncate: int | None = None) -> Any:
    """Return a folder's model of sentence-transformers.

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
    """Write an untuned base, or random weights of its shape, as a model of sentence embeddings, and return its folder.

    Args:
        base: folder of the encoder.
        out: folder to write anew.
        settings: pooling and length.
        weights: "base" or "random".
    """
    shutil.rmtree(out, ignore_errors=True)
    encoder = load_encoder(base)
    if weights == "random":
        torch.manual_seed(settings.seed)
        encoder = type(encoder)(encoder.config, **without_pooler(base))
    tokenizer = AutoTokenizer.from_pretrained(base, trust_remote_code=False)
    write_model(out, encoder, tokenizer, settings, settings.data[0].prompts)
    return out


def find_guide(settings: EmbedSettings) -> Path | None:
    """Return the folder of the guide, None without one."""
    return find(settings.guide, "model") if settings.guide else None


def shape_of(folder: Path) -> EmbedSettings:
    """Return pooling, length and prompts of a model's folder, as settings without data that are read.

    Raises:
        UserError: its pooling is neither the mean nor the first token.
    """
    modes = json.loads((folder / "1_Pooling" / "config.json").read_bytes())
    on = {name for name, value in modes.items() if name.startswith("pooling_mode_") and value}
    names = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    pooling = names.get(*on) if len(on) == 1 else modes.get("pooling_mode")
    if pooling not in ("mean", "cls"):
        raise UserError(f"{folder} pools by {pooling or ', '.join(sorted(on))}", "only mean and cls are known")
    length = json.loads((folder / "sentence_bert_config.json").read_bytes()).get("max_seq_length") or 512
    written = json.loads((folder / "config_sentence_transformers.json").read_bytes()).get("prompts") or {}
    prompts = {name: written.get(name) or "" for name in ("query", "document")}
    return EmbedSettings.model_validate(
        {"pooling": pooling, "length": length, "data": [{"path": str(folder), "prompts": prompts}]}
    )
