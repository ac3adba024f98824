"""Plans: which samples a run has, and what is worked out once for it and kept on disk."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from common.files import atomic_write
from pretrain.budgets import count_by_ordinary_tokens
from pretrain.layouts import Layout, contiguous, doc_sentences, full_sentences
from pretrain.packed_files import holds_groups, read_groups, write_groups
from pretrain.packing import packed
from pretrain.pairs import plan_pairs, read_pairs
from pretrain.settings import PretrainSettings
from tokenizer.shards import TokenShards

Parts = list[tuple[int, Layout]]
"""(shard, layout of samples over its tokens), in order; a shard may come several times."""

BY_ORDINARY = "by-ordinary-tokens.json"


def plan_samples(settings: PretrainSettings, tokens: Path, plans: Path) -> None:
    """Write what is worked out once for a run; one process does this, and what is there already stays.

    These are its sentence pairs or packed documents, and how many ordinary tokens its samples hold, for which all
    tokens are read once.

    Args:
        settings: the run.
        tokens: token folder.
        plans: folder that belongs to this run's samples alone.
    """
    shards = TokenShards(tokens)
    plans.mkdir(parents=True, exist_ok=True)
    if settings.samples == "sentence-pairs":
        plan_pairs(shards, plans, settings.length, copies(settings), settings.validation_samples, settings.seed)
    elif settings.samples == "packed":
        for index in range(len(shards.shards)):
            if not holds_groups(plans, index):
                write_groups(plans, index, packed(shards.documents(index), settings.length))
    if not (plans / BY_ORDINARY).exists():
        training, _ = read_parts(settings, shards, plans)
        with atomic_write(plans / BY_ORDINARY) as stream:
            json.dump(count_by_ordinary_tokens(shards, training, settings.length).tolist(), stream)


def read_parts(settings: PretrainSettings, shards: TokenShards, plans: Path) -> tuple[Parts, Parts | None]:
    """Return a run's samples, and those held out where they are drawn apart: sentence pairs, by document."""
    if settings.samples == "sentence-pairs":
        pairs = read_pairs(shards, plans, copies(settings))
        return list(pairs.training), list(pairs.validation)
    every = range(len(shards.shards))
    if settings.samples == "packed":
        return [(index, read_groups(plans, index)) for index in every], None
    return [(index, make_layout(settings.samples, shards, index, settings.length)) for index in every], None


def read_by_ordinary_tokens(settings: PretrainSettings, shards: TokenShards, plans: Path, parts: Parts) -> np.ndarray:
    """Return `count_by_ordinary_tokens` of a run's samples, counted anew where no plan holds it."""
    path = plans / BY_ORDINARY
    if path.exists():
        return np.array(json.loads(path.read_bytes()), np.int64)
    return count_by_ordinary_tokens(shards, parts, settings.length)


def copies(settings: PretrainSettings) -> int:
    """Return how many copies of the corpus have masks of their own; 1 where each epoch draws new ones."""
    return settings.masking.dupe_factor if settings.masking.kind == "static" else 1


def make_layout(kind: str, shards: TokenShards, index: int, length: int) -> Layout:
    """Return the samples of a shard, of a kind that a rule alone gives (all but sentence pairs)."""
    if kind == "contiguous":
        return contiguous(len(shards.tokens(index)), length)
    if kind == "full-sentences":
        return full_sentences(shards.sentences(index), length)
    if kind == "doc-sentences":
        return doc_sentences(shards.sentences(index), shards.documents(index), length)
    return packed(shards.documents(index), length)
