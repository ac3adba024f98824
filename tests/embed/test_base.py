"""What is read of a base, an embedder or a reranker before work begins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_encoders import embedding_folder, reranker_folder, write_encoder
from transformers import AutoTokenizer

from common.errors import UserError
from embed.settings import EmbedSettings

pytest.importorskip("sentence_transformers")
from embed.base import load_model, read_base
from embed.rerank import load_reranker

SETTINGS = EmbedSettings.model_validate({"data": [{"path": "x"}], "max_seq_len": 16})


def add_entries(folder: Path) -> Path:
    """Add entries to a folder's tokenizer, as one that was extended after the model was trained."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["<가>", "<나>"])
    tokenizer.save_pretrained(folder)
    return folder


def test_ids_without_a_row_are_refused(tmp_path: Path) -> None:
    """Of a base, an embedder and a reranker, whose tokenizer was exchanged."""
    base = write_encoder(tmp_path / "base")
    rows = json.loads((base / "config.json").read_bytes())["vocab_size"]
    message = rf"gives ids up to {rows + 1}, the model has {rows} embeddings"
    read_base(base, SETTINGS)
    embedder = embedding_folder(base, tmp_path / "embedder", SETTINGS)
    load_model(embedder, "cpu")
    cross = reranker_folder(base, tmp_path / "cross")
    load_reranker(cross)
    for load in (
        lambda: read_base(add_entries(base), SETTINGS),
        lambda: load_model(add_entries(embedder), "cpu"),
        lambda: load_reranker(add_entries(cross)),
    ):
        with pytest.raises(UserError, match=message):
            load()


def test_an_embedder_cuts_texts_to_its_positions(tmp_path: Path) -> None:
    """RoBERTa has two rows of positions that no token takes."""
    folder = embedding_folder(write_encoder(tmp_path / "base"), tmp_path / "embedder", SETTINGS)
    path = folder / "sentence_bert_config.json"
    for length in (64, 65):
        content: dict[str, Any] = json.loads(path.read_bytes()) | {"max_seq_length": length}
        path.write_text(json.dumps(content))
        if length == 64:
            assert load_model(folder, "cpu").encode("가" * 100).shape == (32,)
            continue
        with pytest.raises(UserError, match="cuts texts at 65 tokens and has 64 positions"):
            load_model(folder, "cpu")
