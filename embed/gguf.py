"""A model of sentence embeddings as a GGUF file for llama.cpp, whose own converter takes only vocabularies on its list.

Shapes: V vocabulary.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from common.destinations import OutputFile
from common.errors import UserError
from common.extras import require
from common.files import disk_errors
from embed.base import load_model, refuse_multi_vector
from embed.settings import GGUF
from klue.model_folder import read_model_folder
from tokenizer.pipeline import CONTINUATION
from tokenizer.save import read_tokenizer

ARCHITECTURES = {"bert": "BERT", "roberta": "BERT", "modernbert": "MODERN_BERT"}
"""Model type → gguf's name of the graph that llama.cpp computes it with."""
WORD = "\u2581"
"""Prefix of an entry that begins a word, as llama.cpp wants it; WordPiece marks the other entries instead."""


def export_gguf(folder: Path, overwrite: bool = False) -> Path:
    """Write a model of sentence embeddings as a GGUF file into its folder and return the file.

    Raises:
        UserError: it is no model of sentence embeddings, llama.cpp cannot compute it, the package gguf is absent, or
            the folder holds another file of this name.
    """
    place = OutputFile(folder / GGUF, b"GGUF", overwrite)
    for package, extra in (("gguf", "gguf"), ("sentence_transformers", "embed")):
        require(package, "hunmin export MODEL --gguf", extra)
    positions = read_model_folder(folder).max_positions
    model = load_model(folder, "cpu").float()
    refuse_multi_vector(model, folder, "hunmin export MODEL --gguf")
    tokenizer = json.loads(read_tokenizer(folder).to_str())
    if faults := "; ".join([*_tokenizer_faults(tokenizer), *_model_faults(model)]):
        raise UserError(
            f"llama.cpp cannot serve {folder}: {faults}",
            "it computes BERT, RoBERTa and ModernBERT with a cased WordPiece vocabulary",
            f"serve the ONNX graph: hunmin export {folder} --onnx",
        )
    with disk_errors(folder), TemporaryDirectory(dir=folder, prefix=".gguf-") as temporary:
        _write(Path(temporary, GGUF), model, tokenizer, positions)
        place.place(Path(temporary, GGUF))
    return place.path


def _tokenizer_faults(tokenizer: dict[str, Any]) -> Iterator[str]:
    """Yield what llama.cpp's WordPiece does otherwise than a tokenizer.json; it knows BERT's rules, without NFC."""
    model = tokenizer["model"]
    normalizer = tokenizer["normalizer"] or {}
    steps = {step.get("type"): step for step in normalizer.get("normalizers", [normalizer])}
    cleaning = steps.get("BertNormalizer", {})
    if model["type"] != "WordPiece":
        yield f"its vocabulary is {model['type']}"
    elif model["continuing_subword_prefix"] != CONTINUATION:
        yield f"its continued pieces begin with {model['continuing_subword_prefix']!r}"
    if (
        (tokenizer["pre_tokenizer"] or {}).get("type") != "BertPreTokenizer"
        or not steps.keys() <= {"NFC", "BertNormalizer"}
        or not (cleaning.get("clean_text") and cleaning.get("handle_chinese_chars"))
    ):
        yield "its tokenizer cleans or splits text by other rules than BERT's"
    if cleaning.get("lowercase") or cleaning.get("strip_accents"):
        yield "its tokenizer is uncased or strips accents"


def _model_faults(model: Any) -> Iterator[str]:
    config = model[0].auto_model.config
    kinds = [type(module).__name__ for module in model]
    if config.model_type not in ARCHITECTURES:
        yield f"its type is {config.model_type}"
    if kinds[1:] not in (["Pooling"], ["Pooling", "Normalize"]) or model[1].pooling_mode not in ("mean", "cls"):
        yield f"its vectors are not a mean or a first token's ({', '.join(kinds)})"
    modern = config.model_type == "modernbert"
    if (activation := config.hidden_activation if modern else getattr(config, "hidden_act", None)) != "gelu":
        yield f"its activation is {activation}"
    if modern and (biases := [name for name in ("norm_bias", "attention_bias", "mlp_bias") if getattr(config, name)]):
        yield f"it has {', '.join(biases)}"
    if modern and {rope["rope_type"] for rope in config.rope_parameters.values()} != {"default"}:
        yield "its rotary positions are scaled"


def _write(path: Path, model: Any, tokenizer: dict[str, Any], positions: int) -> None:
    """Write weights in fp32, shape, pooling and vocabulary, of a model whose longest input has `positions` tokens."""
    import gguf

    encoder, fast = model[0].auto_model, model.tokenizer
    config = encoder.config
    modern = encoder.config.model_type == "modernbert"
    kind = gguf.MODEL_ARCH[ARCHITECTURES[config.model_type]]
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[kind])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_context_length(positions)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_layer_norm_eps(config.norm_eps if modern else config.layer_norm_eps)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType[model[1].pooling_mode.upper()])
    if modern:
        near = [kind == "sliding_attention" for kind in config.layer_types]
        writer.add_sliding_window(config.local_attention)
        writer.add_sliding_window_pattern(near)
        writer.add_rope_freq_base(config.rope_parameters["full_attention"]["rope_theta"])
        writer.add_rope_freq_base_swa(config.rope_parameters["sliding_attention"]["rope_theta"])
        writer.add_rope_scaling_type(gguf.RopeScalingType.NONE)
    else:
        writer.add_token_type_count(config.type_vocab_size)

    entries_V, types_V = _entries(tokenizer, config.vocab_size)
    writer.add_tokenizer_model("bert")  # WordPiece, whatever computes the model
    writer.add_tokenizer_pre("default")
    writer.add_token_list(entries_V)
    writer.add_token_types(types_V)
    writer.add_bool("tokenizer.ggml.normalizer.lowercase", False)
    writer.add_bool("tokenizer.ggml.normalizer.strip_accents", False)
    writer.add_bos_token_id(fast.cls_token_id)
    writer.add_eos_token_id(fast.sep_token_id)
    for mark in ("sep", "pad", "unk", "mask"):
        getattr(writer, f"add_{mark}_token_id")(getattr(fast, f"{mark}_token_id"))

    names = gguf.get_tensor_name_map(kind, config.num_hidden_layers)
    for name, weight in encoder.state_dict().items():
        if "position_embeddings" in name:
            weight = weight[-positions:]  # RoBERTa's first rows hold no position
        if not name.startswith("pooler."):
            stored = names.get_name(name, try_suffixes=(".weight", ".bias"))
            assert stored, f"llama.cpp has no name for {name}"
            writer.add_tensor(stored, np.ascontiguousarray(weight.numpy()))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _entries(tokenizer: dict[str, Any], rows: int) -> tuple[list[str], list[int]]:
    """Return each row's entry, as llama.cpp writes it, and its type."""
    from gguf import TokenType

    entries_V = [f"[PAD{row}]" for row in range(rows)]
    types_V = [int(TokenType.UNUSED)] * rows
    for entry, row in tokenizer["model"]["vocab"].items():
        begins = not entry.startswith(CONTINUATION)
        entries_V[row] = WORD + entry if begins else entry.removeprefix(CONTINUATION)
        types_V[row] = int(TokenType.NORMAL)
    for added in tokenizer["added_tokens"]:
        entries_V[added["id"]] = added["content"]
        types_V[added["id"]] = int(TokenType.CONTROL if added["special"] else TokenType.USER_DEFINED)
    return entries_V, types_V
