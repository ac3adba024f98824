"""The tuned model: its last checkpoint as a folder for sentence-transformers, and a card without training texts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.files import atomic_write, follow_umask, publish_folder
from common.names import hub_name, pinned_name, shown_name
from common.settings import dump_settings
from embed.base import load_encoder, write_model
from embed.card import write_card
from embed.data import TrainingSet
from embed.settings import EmbedSettings

FACTS = "hunmin-embed.json"
"""In a tuned model's folder: its base, what it was trained on and how."""


def save_tuned(
    s: EmbedSettings, base: Path, tokenizer: Any, sets: Sequence[TrainingSet], checkpoint: Path, out: Path,
    counts: dict[str, Any], name: str,
) -> None:  # fmt: skip
    """Write `out/model` of the last checkpoint, whose card has the name, and `out/counts.json`."""
    partial = out / ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(out / ".begin", ignore_errors=True)
    prompts = next((one.settings.prompts for one in sets if one.shape != "scored"), sets[0].settings.prompts)
    write_model(partial, load_encoder(checkpoint), tokenizer, s, prompts)
    facts = facts_of(s, base, sets)
    (partial / "README.md").write_text(write_card(facts, name or shown_name(base)), encoding="utf-8")
    publish_tuned(partial, out, facts, counts)


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
