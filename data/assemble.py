"""From parts to shards: which documents survive as the first of their kind, and which shard holds which of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import xxhash

from common.errors import UserError
from common.files import read_bytes, write_text
from common.progress import ProgressBar
from data.deduplicate.decide import decide
from data.deduplicate.settings import DeduplicateSettings
from data.executors.protocol import Executor
from data.mixture.settings import MixtureSettings
from data.mixture.shares import OUT, mix
from data.shards import (
    COPIES,
    SCHEMA,
    SHARDS,
    drop_sentences,
    manifest_path,
    read_columns,
    read_numbers,
    read_shard_manifest,
    shard_name,
    write_shard,
    write_shard_manifest,
)
from data.statistics.counts import Counters, merge, shard_statistics, sort_counters, total

WORK, PLAN = ".work", "plan"
"""Folder of what an unfinished corpus alone needs, and its file that names the folder of the parts, and what of them
the shards hold, by a hash."""
DUPLICATES = "duplicates.jsonl"
"""Dropped documents, each with the one that stays in its stead; ids only."""


@dataclass(frozen=True)
class Assembly:
    """Number of shards, duplicates by kind, and statistics of the shards."""

    shards: int
    duplicates: dict[str, int]
    statistics: Counters
    mixture: Counters | None = None
    """Counts of the mixture by source; None without a mixture."""


@dataclass(frozen=True)
class Piece:
    """Some rows of a part: documents first..first + len(documents), each kept or not, and so their sentences."""

    part: Path
    first: int
    documents: np.ndarray
    sentences: np.ndarray | None


@dataclass
class ShardTask:
    """The pieces of parts that make up a shard."""

    index: int
    pieces: list[Piece] = field(default_factory=list)
    copies: int = 1
    """How often its documents come in a pass over the corpus; 0: held out."""

    @property
    def name(self) -> str:
        return shard_name(self.index)


@dataclass(frozen=True)
class ShardWork:
    """Writes a shard and its manifest: the picklable function of an executor."""

    out: Path
    schema: pa.Schema = SCHEMA

    def __call__(self, task: ShardTask) -> Counters:
        """Return the statistics of a shard, which is written unless it is there with its manifest."""
        shard = self.out / SHARDS / task.name
        if not (shard.exists() and manifest_path(shard).exists()):
            write_shard(shard, (_rows(piece, self.schema.names) for piece in task.pieces), self.schema)
            counts = sort_counters(shard_statistics(shard))
            mixed = {} if task.copies == 1 else {COPIES: task.copies}
            write_shard_manifest(shard, {**mixed, "total": total(counts["sources"]), **counts})
        facts = read_shard_manifest(shard)
        return {name: facts[name] for name in ("sources", "lengths")}


def assemble(
    parts: list[Path],
    out: Path,
    work: Path,
    settings: DeduplicateSettings,
    shard_mb: float,
    execute: Executor,
    schema: pa.Schema = SCHEMA,
    mixture: MixtureSettings | None = None,
) -> Assembly:
    """Write the shards of all surviving documents in input order and return their number and statistics.

    With a mixture, documents of one number of copies stand together, in input order, the held-out ones first.

    Args:
        work: folder of the parts, in which their names stand for what they hold.
        shard_mb: text in a shard, 10^6 bytes.
        mixture: which documents come how often; None takes each once.

    Raises:
        UserError: the mixture names a source that the corpus does not have, or leaves nothing to train on.
    """
    decision = decide(parts, settings, out / DUPLICATES, work, execute)
    shard_bytes = int(shard_mb * 1e6)
    mixed = mix(parts, decision.documents, mixture) if mixture else None
    copies = mixed.copies if mixed else [np.where(stays, 1, OUT) for stays in decision.documents]
    tasks = _plan(parts, copies, decision.sentences, shard_bytes)
    _keep_to(f"{work.name} {_hash(tasks, schema)}", out)
    statistics: Counters = {"sources": {}, "lengths": {}}
    with ProgressBar("shards", len(tasks), "shards") as bar:
        for shard_counts in execute(ShardWork(out, schema), tasks, lambda _: bar.advance()):
            merge(statistics, shard_counts)
    return Assembly(len(tasks), decision.counts, sort_counters(statistics), mixed and mixed.counts)


def _plan(
    parts: list[Path], copies: list[np.ndarray], sentences: list[np.ndarray | None], shard_bytes: int
) -> list[ShardTask]:
    tasks: list[ShardTask] = []
    for number in sorted({int(count) for part in copies for count in np.unique(part)} - {OUT}):
        for task in _cut(parts, [part == number for part in copies], sentences, shard_bytes):
            tasks.append(ShardTask(len(tasks), task.pieces, number))
    if tasks and not tasks[-1].copies:
        raise UserError(
            "the mixture leaves nothing to train on: every document is held out",
            "a corpus holds at least one document beside those",
            "lower corpus.mixture.held_out",
        )
    return tasks


def _hash(tasks: list[ShardTask], schema: pa.Schema) -> str:
    """Return 32 hex digits of what shards are made of: the columns, and which rows of which parts."""
    digest = xxhash.xxh3_128(" ".join(schema.names).encode())
    for task in tasks:
        digest.update(f"\n{task.copies}".encode())
        for piece in task.pieces:
            digest.update(f"\n{piece.part.name} {piece.first} {len(piece.documents)}\n".encode())
            digest.update(np.packbits(piece.documents))
            digest.update(b"" if piece.sentences is None else np.packbits(piece.sentences))
    return digest.hexdigest()


def _keep_to(plan: str, out: Path) -> None:
    """Note the plan of the shards, and remove the shards of another plan: the inputs changed without a trace."""
    note = out / WORK / PLAN
    if note.exists() and read_bytes(note).decode() == plan:
        return
    for path in (out / SHARDS).glob("shard-*"):
        path.unlink()
    write_text(note, plan)


def _cut(
    parts: list[Path], masks: list[np.ndarray], sentences: list[np.ndarray | None], shard_bytes: int
) -> list[ShardTask]:
    """Return the shards: as few as hold `shard_bytes` of text each, and all of one size, so that workers share evenly.

    Sizes are those of the documents before sentences go as duplicates. A shard begins with the first document after
    its share of the text, so it may be longer by a part of a document.
    """
    total = sum(int(_sizes(part, mask)[mask].sum()) for part, mask in zip(parts, masks, strict=True))
    count = max(-(-total // shard_bytes), 1)
    share = max(-(-total // count), 1)
    tasks: list[ShardTask] = []
    written = 0
    for part, mask, stays in zip(parts, masks, sentences, strict=True):
        if not mask.any():
            continue
        before = written + np.concatenate(([0], np.cumsum(_sizes(part, mask) * mask)))
        written = int(before[-1])
        shard = before[:-1] // share
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


def _sizes(part: Path, mask: np.ndarray) -> np.ndarray:
    if not mask.any():
        return np.zeros(len(mask), np.int64)
    return read_numbers(part, "bytes")


def _rows(piece: Piece, columns: list[str]) -> pa.Table:
    whole = read_columns(piece.part, columns).combine_chunks()
    table = whole.slice(piece.first, len(piece.documents))
    if piece.sentences is None:
        return table.filter(pa.array(piece.documents))
    offsets = whole.column("sentences").combine_chunks().offsets.to_numpy()
    offsets = offsets[piece.first : piece.first + len(piece.documents) + 1]
    stays = piece.sentences[offsets[0] : offsets[-1]] & np.repeat(piece.documents, np.diff(offsets))
    return drop_sentences(table, stays)
