"""The tuned model: its last checkpoint as a folder for sentence-transformers, and a card without training texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.files import atomic_write, follow_umask, publish_folder
from common.names import hub_name, pinned_name, shown_name
from common.settings import dump_settings
from embed.base import load_encoder
from embed.card import write_card
from embed.data import TrainingSet
from embed.settings import EmbedSettings, PromptSettings
from pretrain.export.sentence_embeddings import write_embedding_files

FACTS = "hunmin-embed.json"
"""In a tuned model's folder: its base, what it was trained on and how."""


def write_embedder(
    folder: Path, checkpoint: Path, tokenizer: Any, s: EmbedSettings, facts: dict[str, Any], name: str, *_: Any
) -> None:
    """Write a checkpoint as a model of sentence embeddings with its card."""
    write_model(folder, checkpoint, tokenizer, s)
    (folder / "README.md").write_text(write_card(facts, name), encoding="utf-8")


def write_model(folder: Path, checkpoint: Path, tokenizer: Any, s: EmbedSettings) -> None:
    """Write an encoder as sentence-transformers of any version, vLLM, TEI and llama.cpp read it."""
    encoder = load_encoder(checkpoint)
    encoder.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    prompts = s.prompts.model_dump() if s.prompts != PromptSettings() else {}
    write_embedding_files(folder, encoder.config.hidden_size, s.max_seq_len, s.pooling, prompts)


def facts_of(s: EmbedSettings, base: Path, sets: Sequence[TrainingSet]) -> dict[str, Any]:
    """Return base, sets and settings of a tuned model."""
    pinned = pinned_name(base)
    guide = s.guide and (s.guide if hub_name(s.guide) else shown_name(s.guide))
    settings = {**dump_settings(s), "base": pinned or shown_name(base), "guide": guide}
    for key in ("sources", "score"):
        settings.pop(key)
    settings["data"] = [
        {**one, "path": Path(one["path"]).name if one["path"] else None} for one in settings["data"]
    ]  # no path of this machine
    return {"base": pinned or shown_name(base), "trained_on": [
        {"set": one.settings.use or Path(str(one.settings.path)).name, "split": one.settings.split,
         "licence": one.licence, "rows": len(one.texts), "shape": one.shape} for one in sets
    ], "settings": settings}  # fmt: skip


def publish_tuned(partial: Path, out: Path, facts: dict[str, Any], counts: dict[str, Any]) -> None:
    """Give a tuned model's folder its facts and its name `out/model`, and write `out/counts.json`."""
    with atomic_write(partial / FACTS) as stream:
        json.dump(facts, stream, ensure_ascii=False, indent=1)
    follow_umask(*partial.glob("*.safetensors"))
    publish_folder(partial, out / "model", replace=True)
    with atomic_write(out / "counts.json") as stream:
        json.dump(counts, stream, ensure_ascii=False, indent=1, sort_keys=True)
