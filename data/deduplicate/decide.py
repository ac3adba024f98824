"""The decision which documents, then which of their paragraphs and sentences stay: each the first of its kind."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from common.progress import ProgressBar
from data.deduplicate.equal_documents import find_equal_documents
from data.deduplicate.exact import survivors
from data.deduplicate.near import NEAR_THRESHOLD
from data.deduplicate.near_copies import find_near_copies
from data.deduplicate.report import write_report
from data.deduplicate.settings import DeduplicateSettings
from data.deduplicate.sides import PARAGRAPHS, SENTENCES, load_side
from data.executors.protocol import Executor
from data.shards import read_columns

KINDS = ("documents", "near", "paragraphs", "sentences", "emptied")
MIN_PARAGRAPH_CHARS = 50
"""Shorter paragraphs are never dropped as duplicates: headings and short answers repeat in good text."""


class Decision(NamedTuple):
    """Documents and sentences of each part that stay, and the number of duplicates of each kind."""

    documents: list[np.ndarray]
    """Masks of documents."""
    sentences: list[np.ndarray | None]
    """Masks of sentences, false in documents that go; None where all sentences of the documents that stay, stay."""
    counts: dict[str, int]
    """Kind → how many go: documents, near (documents), paragraphs, sentences; and emptied: documents that lost all of
    their paragraphs or sentences."""


def decide(parts: list[Path], settings: DeduplicateSettings, report: Path, work: Path, execute: Executor) -> Decision:
    """Return the decision, and write one line {"id", "kept", "rule", "similarity"} a dropped document to `report`.

    Of a kind the first in input order stays. Documents go before paragraphs, paragraphs before sentences, so what is
    compared is what is still there.
    """
    borders, keep, counts = _documents(parts, settings, report, work, execute)
    masks = [keep[first:last] for first, last in pairwise(borders)]
    sentences: list[np.ndarray | None] = [None] * len(parts)
    if settings.paragraphs or settings.sentences:
        offsets = [_sentences(part).offsets.to_numpy() for part in parts]
        stays = [np.repeat(mask, np.diff(borders)) for mask, borders in zip(masks, offsets, strict=True)]
        if settings.paragraphs:
            counts["paragraphs"] = _drop_paragraphs(parts, stays, MIN_PARAGRAPH_CHARS)
        if settings.sentences:
            counts["sentences"] = _drop_sentences(parts, stays, settings.min_sentence_chars)
        left = [_any(mask, borders) for mask, borders in zip(stays, offsets, strict=True)]
        counts["emptied"] = sum(int(mask.sum()) for mask in masks) - sum(int(mask.sum()) for mask in left)
        masks, sentences = left, list(stays)
    return Decision(masks, sentences, counts)


def _documents(
    parts: list[Path], settings: DeduplicateSettings, report: Path, work: Path, execute: Executor
) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    twins = near = None
    if settings.documents:
        with ProgressBar("equal documents", None, "tasks") as bar:
            rows, twins = find_equal_documents(parts, work, execute, lambda _: bar.advance())
    else:
        rows = np.array([pq.read_metadata(part).num_rows for part in parts], np.int64)
    if settings.near:
        with ProgressBar("near copies", None, "tasks") as bar:
            near = find_near_copies(parts, rows, NEAR_THRESHOLD, twins, work, execute, lambda _: bar.advance())
    with ProgressBar("report of duplicates", None, "tasks") as bar:
        write_report(report, parts, rows, twins, near, work, execute, lambda _: bar.advance())
    borders = np.concatenate(([0], np.cumsum(rows))).astype(np.int64)
    keep = np.ones(borders[-1], bool)
    counts = dict.fromkeys(KINDS, 0)
    for kind, all_copies in (("documents", twins), ("near", near)):
        for copies in all_copies or ():
            keep[copies["dropped"]] = False
            counts[kind] += len(copies)
    return borders, keep, counts


def _sentences(part: Path) -> pa.ListArray:
    return read_columns(part, ["sentences"]).column("sentences").combine_chunks()


def _any(mask: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return for each document whether one of its sentences is left."""
    return np.diff(np.concatenate(([0], np.cumsum(mask)))[offsets]) > 0


def _drop_paragraphs(parts: list[Path], stays: list[np.ndarray], shortest: int) -> int:
    """Deny in `stays` the sentences of later copies of paragraphs, and return how many paragraphs go."""
    candidates = []
    for part, mask in zip(parts, stays, strict=True):
        paragraphs = load_side(part, PARAGRAPHS)
        first = np.cumsum(paragraphs["sentences"]) - paragraphs["sentences"]
        candidates.append(mask[first] & (paragraphs["characters"] >= shortest))
    keep = _first_of(parts, candidates, lambda part: load_side(part, PARAGRAPHS)["key"])
    for part, mask, staying in zip(parts, stays, keep, strict=True):
        mask &= np.repeat(staying, load_side(part, PARAGRAPHS)["sentences"])
    return sum(int((~staying).sum()) for staying in keep)


def _drop_sentences(parts: list[Path], stays: list[np.ndarray], shortest: int) -> int:
    """Deny in `stays` the later copies of sentences, and return how many go."""
    candidates = []
    for part, mask in zip(parts, stays, strict=True):
        long_enough = pc.utf8_length(_sentences(part).flatten()).to_numpy(zero_copy_only=False) >= shortest
        candidates.append(mask & long_enough)
    keep = _first_of(parts, candidates, lambda part: load_side(part, SENTENCES))
    for mask, staying in zip(stays, keep, strict=True):
        mask &= staying
    return sum(int((~staying).sum()) for staying in keep)


def _first_of(parts: list[Path], candidates: list[np.ndarray], keys: Callable[[Path], np.ndarray]) -> list[np.ndarray]:
    """Return for each part which of its texts stay: all but those candidates that an earlier candidate equals."""
    keep = survivors(
        lambda: (keys(part)[chosen] for part, chosen in zip(parts, candidates, strict=True)),
        sum(int(chosen.sum()) for chosen in candidates),
    )
    results = []
    position = 0
    for chosen in candidates:
        stays = np.ones(len(chosen), bool)
        count = int(chosen.sum())
        stays[chosen] = keep[position : position + count]
        position += count
        results.append(stays)
    return results
