"""GGUF files: what is written is the model, and what llama.cpp computes otherwise is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_encoders import write_encoder
from transformers import (
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    DebertaV2Config,
    DebertaV2ForMaskedLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    RobertaConfig,
    RobertaForMaskedLM,
)

from common.errors import UserError
from embed.settings import GGUF, EmbedSettings
from tokenizer.save import build_tokenizer, save_tokenizer
from tokenizer.settings import SPECIAL_TOKENS

pytest.importorskip("sentence_transformers")
pytest.importorskip("gguf")
import gguf

from embed.gguf import export_gguf
from embed.trainer import write_model

SHAPE: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 48,
    "max_position_embeddings": 70, "initializer_range": 0.3,
}  # fmt: skip
KINDS = {
    "bert": (BertConfig, BertForMaskedLM),
    "roberta": (RobertaConfig, RobertaForMaskedLM),
    "modernbert": (ModernBertConfig, ModernBertForMaskedLM),
    "deberta-v2": (DebertaV2Config, DebertaV2ForMaskedLM),
}


def write_vocabulary(folder: Path, special: str, letters: str = "가나다라마바사 abc123.,") -> Path:
    """Write a tokenizer that knows each letter at the beginning of a word and within it."""
    known = [*SPECIAL_TOKENS[special], "<URL>"]
    known += [form for letter in letters if letter != " " for form in (letter, f"##{letter}")]
    save_tokenizer(build_tokenizer(known, special, ["<URL>"]), special, 64, folder)
    return folder


def write_embedder(folder: Path, kind: str, pooling: str = "mean", **changes: Any) -> Path:
    """Write a model of sentence embeddings of random weights."""
    bert = kind == "bert"
    tokens = write_vocabulary(folder / "tokens", "bert" if bert else "roberta")
    tokenizer = AutoTokenizer.from_pretrained(tokens)
    config, model = KINDS[kind]
    own = {"type_vocab_size": 2 if bert else 1} if kind in ("bert", "roberta") else {}
    if kind == "modernbert":
        own = {"local_attention": 8, "cls_token_id": 0, "sep_token_id": 2, "bos_token_id": 0, "eos_token_id": 2}
    torch.manual_seed(5)
    shape = SHAPE | own | {"vocab_size": len(tokenizer) + 3, "pad_token_id": tokenizer.pad_token_id} | changes
    model(config(**shape)).save_pretrained(folder / "base")
    settings = EmbedSettings.model_validate({"data": [{"path": "x"}], "max_seq_len": 64, "pooling": pooling})
    (folder / "model").mkdir()
    write_model(folder / "model", folder / "base", tokenizer, settings)
    return folder / "model"


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what a file says, without prefixes, and its weights."""
    reader = gguf.GGUFReader(path)
    said = {name.partition(".")[2]: field.contents() for name, field in reader.fields.items()}
    return said, {one.name: np.array(one.data) for one in reader.tensors}


@pytest.mark.parametrize(("kind", "pooling"), [("bert", "mean"), ("roberta", "cls"), ("modernbert", "mean")])
def test_a_file_holds_the_model(kind: str, pooling: str, tmp_path: Path) -> None:
    folder = write_embedder(tmp_path, kind, pooling)
    assert export_gguf(folder) == folder / GGUF and not list(folder.glob(".*"))
    said, weights = read(folder / GGUF)
    assert said["pooling_type"] == {"mean": 1, "cls": 2}[pooling] and said["attention.causal"] is False
    assert (said["block_count"], said["embedding_length"], said["feed_forward_length"]) == (3, 32, 48)
    assert said["ggml.model"] == "bert" and said["ggml.normalizer.strip_accents"] is False

    tokenizer = AutoTokenizer.from_pretrained(folder)
    entries, types = said["ggml.tokens"], said["ggml.token_type"]
    assert len(entries) == len(types) == len(tokenizer) + 3
    named = {"[CLS]": 3, "<URL>": 4, "\u2581가": 1, "가": 1}  # CONTROL, USER_DEFINED, NORMAL
    for entry, form in (("[CLS]", "[CLS]"), ("<URL>", "<URL>"), ("\u2581가", "가"), ("가", "##가")):
        place = entries.index(entry)
        assert place == tokenizer.convert_tokens_to_ids(form) and types[place] == named[entry]
    assert types[-3:] == [5, 5, 5]  # rows without an entry
    roles = {"bos_token_id": "cls_token_id", "seperator_token_id": "sep_token_id", "unknown_token_id": "unk_token_id"}
    for role, ours in roles.items():
        assert said[f"ggml.{role}"] == getattr(tokenizer, ours)

    stored = AutoModel.from_pretrained(folder).state_dict()
    words = next(
        value for name, value in stored.items() if name.endswith(("word_embeddings.weight", "tok_embeddings.weight"))
    )
    np.testing.assert_array_equal(weights["token_embd.weight"], words.numpy())
    if kind == "modernbert":
        assert said["attention.sliding_window_pattern"] == [False, True, True]
        assert (said["rope.freq_base"], said["rope.freq_base_swa"]) == (160_000, 10_000)
        assert said["attention.sliding_window"] == 8
    else:  # RoBERTa's first two rows hold no position
        positions = stored["embeddings.position_embeddings.weight"].numpy()
        np.testing.assert_array_equal(
            weights["position_embd.weight"], positions[2:] if kind == "roberta" else positions
        )
        assert said["context_length"] == len(weights["position_embd.weight"])


@pytest.mark.parametrize(
    ("kind", "changes", "fault"),
    [
        ("deberta-v2", {}, "its type is deberta-v2"),
        ("modernbert", {"mlp_bias": True}, "it has mlp_bias"),
        ("roberta", {"hidden_act": "gelu_new"}, "its activation is gelu_new"),
    ],
)
def test_what_llama_cpp_computes_otherwise_is_refused(
    kind: str, changes: dict[str, Any], fault: str, tmp_path: Path
) -> None:
    folder = write_embedder(tmp_path, kind, **changes)
    with pytest.raises(UserError, match=rf"llama\.cpp cannot serve .*: {fault}\n"):
        export_gguf(folder)
    assert not (folder / GGUF).exists()


@pytest.mark.parametrize(
    ("part", "value", "fault"),
    [
        ("normalizer", {"type": "Lowercase"}, "cleans or splits text by other rules"),
        ("pre_tokenizer", {"type": "Whitespace"}, "cleans or splits text by other rules"),
        (
            "normalizer",
            {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
             "lowercase": True},
            "is uncased",
        ),
    ],
)  # fmt: skip
def test_a_tokenizer_of_other_rules_is_refused(part: str, value: Any, fault: str, tmp_path: Path) -> None:
    folder = write_embedder(tmp_path, "bert")
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {part: value}))
    with pytest.raises(UserError, match=fault):
        export_gguf(folder)


def test_other_vocabularies_and_bare_encoders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no model of sentence embeddings"):
        export_gguf(write_encoder(tmp_path / "bare"))
    settings = EmbedSettings.model_validate({"data": [{"path": "x"}], "max_seq_len": 16})
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "bare")
    write_model(tmp_path / "words", tmp_path / "bare", tokenizer, settings)
    with pytest.raises(UserError, match="its vocabulary is WordLevel"):
        export_gguf(tmp_path / "words")
