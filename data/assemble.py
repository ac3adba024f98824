"""From parts to shards: which documents survive as the first of their kind, and which shard holds which of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from common.files import atomic_write
from common.progress import ProgressBar
from data.deduplicate import KEY, DeduplicateSettings, survivors
from data.executors import run_local
from data.shards import SCHEMA, SHARDS, drop_sentences, shard_name, write_shard
from data.statistics import Counters, merge, shard_statistics, sort_counters


@dataclass(frozen=True)
class Assembly:
    """What came of the parts."""

    shards: int
    duplicates: dict[str, int]
    statistics: Counters


@dataclass(frozen=True)
class Piece:
    """Some rows of a part: documents first..first + len(documents), each kept or not, and so their sentences."""

    part: Path
    first: int
    documents: np.ndarray
    sentences: np.ndarray | None


@dataclass
class ShardTask:
    """One shard to write."""

    index: int
    pieces: list[Piece] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return the shard's name."""
        return shard_name(self.index)


@dataclass(frozen=True)
class ShardWork:
    """The function of a shard; its statistics are kept beside the parts, so a finished shard is not read again."""

    out: Path
    work: Path

    def __call__(self, task: ShardTask) -> Counters:
        """Write one shard unless it is there, and return its statistics."""
        path, notes = self.out / SHARDS / task.name, self.work / f"{task.name}.json"
        if not (path.exists() and notes.exists()):
            write_shard(path, pa.concat_tables([SCHEMA.empty_table(), *map(_rows, task.pieces)]))
            with atomic_write(notes, "wb") as stream:
                stream.write(orjson.dumps(shard_statistics(path)))
        found: Counters = orjson.loads(notes.read_bytes())
        return found


def assemble(
    parts: list[Path], out: Path, work: Path, settings: DeduplicateSettings, shard_mb: float, workers: int
) -> Assembly:
    """Write the shards of all surviving documents in input order and return their number and statistics.

    Args:
        parts: part files in input order.
        out: folder that gets shards/.
        work: folder of the parts.
        settings: which duplicates go.
        shard_mb: text in a shard, 10^6 bytes.
        workers: processes.
    """
    rows = [pq.read_metadata(part).num_rows for part in parts]
    borders = np.concatenate(([0], np.cumsum(rows))).astype(np.int64)
    keep = np.ones(int(borders[-1]), bool)
    if settings.documents:
        keep = survivors(lambda: map(_document_keys, parts), int(borders[-1]))
    duplicates = {"documents": int((~keep).sum()), "sentences": 0}
    masks = [keep[first:last] for first, last in pairwise(borders)]
    sentences: list[np.ndarray | None] = [None] * len(parts)
    if settings.sentences:
        found = _sentence_masks(parts, masks, settings.min_sentence_chars)
        duplicates["sentences"] = sum(int((~mask).sum()) for mask in found)
        sentences = list(found)
    tasks = _plan(parts, masks, sentences, int(shard_mb * 1e6))
    statistics: Counters = {"sources": {}, "lengths": {}}
    with ProgressBar("shards", len(tasks), "shards") as bar:
        for one in run_local(ShardWork(out, work), tasks, min(workers, max(len(tasks), 1)), lambda _: bar.advance()):
            merge(statistics, one)
    return Assembly(len(tasks), duplicates, sort_counters(statistics))


def _document_keys(part: Path) -> np.ndarray:
    table = pq.read_table(part, columns=["high", "low"], use_threads=False)
    keys = np.empty(table.num_rows, KEY)
    keys["high"], keys["low"] = table.column("high").to_numpy(), table.column("low").to_numpy()
    return keys


def _sentence_masks(parts: list[Path], masks: list[np.ndarray], shortest: int) -> list[np.ndarray]:
    """Return for each part which of its sentences stay: all but later copies in documents that are kept."""
    candidates = []
    for part, mask in zip(parts, masks, strict=True):
        lists = pq.read_table(part, columns=["sentences"], use_threads=False).column("sentences").combine_chunks()
        long_enough = pc.utf8_length(lists.flatten()).to_numpy(zero_copy_only=False) >= shortest
        candidates.append(np.repeat(mask, np.diff(lists.offsets.to_numpy())) & long_enough)

    def load() -> Iterator[np.ndarray]:
        for part, chosen in zip(parts, candidates, strict=True):
            yield np.load(part.with_suffix(".npy"))[chosen]

    keep = survivors(load, sum(int(chosen.sum()) for chosen in candidates))
    results, position = [], 0
    for chosen in candidates:
        stays = np.ones(len(chosen), bool)
        count = int(chosen.sum())
        stays[chosen] = keep[position : position + count]
        position += count
        results.append(stays)
    return results


def _plan(
    parts: list[Path], masks: list[np.ndarray], sentences: list[np.ndarray | None], shard_bytes: int
) -> list[ShardTask]:
    """Return the shards: a new one begins with the first document after each full `shard_bytes` of text."""
    tasks: list[ShardTask] = []
    written = 0
    for part, mask, stays in zip(parts, masks, sentences, strict=True):
        if not mask.any():
            continue
        table = pq.read_table(part, columns=["bytes"], use_threads=False)
        sizes = table.column("bytes").to_numpy() * mask
        before = written + np.concatenate(([0], np.cumsum(sizes)))
        written = int(before[-1])
        shard = before[:-1] // shard_bytes
        firsts = np.flatnonzero(np.diff(shard, prepend=-1))
        for first, last in zip(firsts, [*firsts[1:], len(mask)], strict=True):
            if not mask[first:last].any():
                continue
            if not tasks or tasks[-1].index != shard[first]:
                tasks.append(ShardTask(int(shard[first])))
            tasks[-1].pieces.append(Piece(part, int(first), mask[first:last], stays))
    for index, task in enumerate(tasks):
        task.index = index
    return tasks


def _rows(piece: Piece) -> pa.Table:
    """Return the kept rows of a piece with their kept sentences."""
    whole = pq.read_table(piece.part, columns=SCHEMA.names, use_threads=False).combine_chunks()
    table = whole.slice(piece.first, len(piece.documents))
    if piece.sentences is None:
        return table.filter(pa.array(piece.documents))
    offsets = whole.column("sentences").combine_chunks().offsets.to_numpy()
    offsets = offsets[piece.first : piece.first + len(piece.documents) + 1]
    stays = piece.sentences[offsets[0] : offsets[-1]] & np.repeat(piece.documents, np.diff(offsets))
    return drop_sentences(table, stays)
