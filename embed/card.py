"""What is said of a tuned model, as facts and as its card: names and counts of its data sets, none of their texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import ModelCardData

from common.files import HUB
from common.names import hub_name, pinned_name, shown_name
from common.nulls import without_nulls
from common.results import AMOUNT, check_numbers, read_result
from common.settings import dump_settings, load_yaml
from embed.data import TrainingSet
from embed.settings import EmbedSettings

FACTS = "hunmin-embed.json"
"""File in a tuned model's folder: its base, what it was trained on and how."""


def facts_of(s: EmbedSettings, base: Path, sets: Sequence[TrainingSet]) -> dict[str, Any]:
    """Return base, sets and settings of a tuned model."""
    pinned = pinned_name(base)
    guide = s.guide and (s.guide if hub_name(s.guide) else shown_name(s.guide))
    settings = {**dump_settings(s), "base": pinned or shown_name(base), "guide": guide}
    for key in ("sources", "score"):
        settings.pop(key)
    settings["data"] = [
        {**entry, "path": Path(entry["path"]).name if entry["path"] else None} for entry in settings["data"]
    ]  # no path of this machine
    return {"base": pinned or shown_name(base), "trained_on": [
        {"set": entry.settings.use or Path(str(entry.settings.path)).name, "split": entry.settings.split,
         "origins": sorted(entry.origins), "licence": entry.licence, "rows": len(entry.texts), "shape": entry.shape}
        for entry in sets
    ], "settings": settings}  # fmt: skip


def read_facts(model: Path) -> dict[str, Any]:
    """Return `facts_of` a tuned model's folder; {} where it has none. Raises DamagedError where they were edited, or
    are of another shape."""

    def check(facts: dict[str, Any]) -> None:
        check_numbers([{"rows": entry["rows"]} for entry in facts["trained_on"]], {"rows": AMOUNT}.get)
        write_card(facts, "model")

    path = model / FACTS
    return dict(read_result(path, check, "tune it again", sealed=True)) if path.exists() else {}


def write_card(
    facts: dict[str, Any], name: str, scores: str = "", language: str = "en", repository: str = "embed/model",
    **more: Any,
) -> str:  # fmt: skip
    """Return the card ("en" or "ko") of a model in `repository`, Markdown below its metadata."""
    words = load_yaml(Path(__file__).with_name("card.yaml"))[language]
    s = facts["settings"]
    kind = s.get("kind", "dense")  # settings of older models have none
    dense = kind == "dense"
    base, _, commit = facts["base"].removeprefix(HUB).partition("@")
    front = ModelCardData(
        language="ko",
        library_name="sentence-transformers",
        pipeline_tag="sentence-similarity" if dense else "feature-extraction",
        tags=["sentence-transformers", "feature-extraction" if dense else "multi-vector", "hunmin"],
        base_model=base if commit else None,
        **more,
    )
    prompts: dict[str, str] = next((entry["prompts"] for entry in s["data"] if any(entry["prompts"].values())), {})
    widths = "MatryoshkaLoss, " * bool(s["matryoshka"])
    how = s["guide"], s["mini_batch"], kind
    rows = [
        f"| {', '.join(dict.fromkeys([entry['set'], *entry.get('origins', ())]))} | {entry['split']} | "
        f"{entry['rows']:,} | {widths}{loss_name(entry['shape'], dataset['distill'], *how)} | "
        f"{entry['licence']} |"
        for entry, dataset in zip(facts["trained_on"], s["data"], strict=True)
    ]
    shown = without_nulls(s, EmbedSettings)
    vectors = s["pooling"] if dense else words["tokens"].format(width=s["token_width"])
    card: str = words["card"].format(
        name=name, base=base, repository=repository, pooling=vectors, max_seq_len=s["max_seq_len"],
        loader="SentenceTransformer" if dense else "MultiVectorEncoder",
        **{side: f"`{prompts[side]}`" if prompts.get(side) else words["none"] for side in ("query", "document")},
        sets="\n".join(rows),
        scores=scores.strip() or words["unscored"], settings=yaml.safe_dump(shown, allow_unicode=True, sort_keys=False),
    )  # fmt: skip
    return f"---\n{front.to_yaml()}\n---\n\n{card}"


def loss_name(shape: str, distill: str, guide: Any, mini_batch: int | None, kind: str = "dense") -> str:
    """Return sentence-transformers' name of the loss of a set, by shape, way to distill and settings of the run."""
    if shape == "ranking" and guide:  # of guided losses the one without a cache takes one negative at most
        return "CachedGISTEmbedLoss"
    tokens = "MultiVector" * (kind == "multi-vector")
    if shape == "ranking":
        return f"{'Cached' * bool(mini_batch)}{tokens}MultipleNegativesRankingLoss"
    return "CoSENTLoss" if shape == "scored" else f"{tokens}{'DistillKLDiv' if distill == 'kl' else 'MarginMSE'}Loss"
