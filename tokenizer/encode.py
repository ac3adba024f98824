"""The encode stage: corpus shards to token shards, some row groups a task, resumable and the same on any executor.

A task writes its pieces under hidden names, then a mark with their sizes; a killed run keeps every task that has its
mark. When all have, the pieces are numbered through in the order of the corpus.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from common.errors import HunminError, UserError
from common.files import atomic_write, remove_leftovers
from common.process import available_cores
from common.progress import ProgressBar
from data.executors.choice import open_executor
from data.shards import COPIES, copies_of, read_shard, row_groups, shard_paths
from tokenizer.coverage import check_tokenizer
from tokenizer.encoder import Batch, Encoder
from tokenizer.save import load_tokenizer
from tokenizer.settings import EncodeSettings
from tokenizer.shards import shard_files, write_meta, write_shard

__all__ = ["EncodeSettings", "encode_corpus"]

BATCH_DOCUMENTS = 2048
"""Documents that are read and encoded together."""
TASK_GROUPS = 4
"""Most row groups of a corpus shard in a task: about 64 MB of text."""
SAMPLE_DOCUMENTS = 64
"""Documents of a task that are looked at to see whether the tokenizer can read them."""
SHARD_TOKENS = 1 << 26
"""A token shard is closed at the first document end at or past this many tokens: 134 MB, which a worker holds in
memory."""
TASKS = 16
"""Tasks that a corpus of few row groups is cut into, so that several workers end together."""


def encode_corpus(settings: EncodeSettings, corpus: Path, tokenizer: Path, out: Path) -> dict[str, Any]:
    """Encode a finished corpus folder into the token folder `out` and return the counts.

    Raises:
        UserError: the corpus has no shard or no token, the tokenizer is none that this stage can be exact for or
            cannot read the text (`tokenizer.coverage`), or there is no Ray cluster at the address.
    """
    _encoder.cache_clear()
    every = _tasks(corpus)
    tasks = [task for task in every if not _mark(out, task.number).is_file()]
    if len(tasks) == len(every):  # before any work
        check_tokenizer(load_tokenizer(tokenizer), _some_text(every), f"the tokenizer in {tokenizer}", "the corpus")
    work = partial(_encode_task, tokenizer=tokenizer, out=out, shard_tokens=SHARD_TOKENS)
    workers = settings.workers
    if settings.executor == "local":
        workers = max(1, min(workers or available_cores(), len(tasks)))
    megabytes = [sum(task.megabytes for task in some) for some in (every, tasks)]
    with (
        open_executor(settings.executor, workers, settings.ray_address, out, threads=True) as execute,
        ProgressBar("encode", total=megabytes[0], unit="MB", done=megabytes[0] - megabytes[1]) as bar,
    ):
        encoder = _encoder(tokenizer)
        execute(work, _far_apart(tasks, workers or 1), bar.advance)
    _encoder.cache_clear()  # frees the table, and another tokenizer may come to stand at the same path
    marks = [json.loads(_mark(out, index).read_text(encoding="utf-8")) for index in range(len(every))]
    entries = [piece for mark in marks for piece in mark["pieces"]]
    if not entries:
        raise UserError(f"{corpus} holds no text", "a corpus to encode holds at least one token", "check the corpus")
    _number_through(out, marks)
    unk = sum(mark["unk"] for mark in marks)
    meta = write_meta(out, encoder.vocab_size, encoder.special_ids, entries, unk)
    for left_over in (".done-*", ".shard-*"):
        for path in sorted(out.glob(left_over)):
            path.unlink()
    remove_leftovers(out)
    counts = {name: meta[name] for name in ("tokens", "documents", "sentences", "unk")}
    empty = sum(mark["empty_documents"] for mark in marks)
    return {**counts, "empty_documents": empty, "shards": len(entries), "vocab_size": encoder.vocab_size}


class _Task(NamedTuple):
    """Some row groups of a corpus shard, the megabytes of the file that they take, about, and the shard's copies."""

    path: Path
    groups: range
    number: int
    megabytes: float
    copies: int = 1

    @property
    def name(self) -> str:
        return f"{self.path.name} from row group {self.groups.start}"


def _tasks(corpus: Path) -> list[_Task]:
    counts = {path: row_groups(path) for path in shard_paths(corpus)}
    most = min(TASK_GROUPS, max(1, sum(counts.values()) // TASKS))
    tasks: list[_Task] = []
    for path, count in counts.items():
        copies = copies_of(path)
        for start in range(0, count, most):
            groups = range(start, min(start + most, count))
            tasks.append(_Task(path, groups, len(tasks), path.stat().st_size / 1e6 * len(groups) / count, copies))
    return tasks


def _far_apart(tasks: list[_Task], workers: int) -> list[_Task]:
    """Return the tasks in an order in which each of so many workers goes through neighbours, whose words are alike."""
    run = -(-len(tasks) // workers)
    return [task for first in range(run) for task in tasks[first::run]]


@lru_cache(maxsize=1)
def _encoder(tokenizer: Path) -> Encoder:
    """Cached: its tables stay warm from task to task."""
    return Encoder(load_tokenizer(tokenizer), tokenizer)


def _mark(out: Path, index: int) -> Path:
    return out / f".done-{index:05d}.json"


def _piece_prefix(index: int) -> str:
    return f".shard-{index:05d}-"


def _number_through(out: Path, marks: list[dict[str, Any]]) -> None:
    """Give every piece its final name; a piece that has it already (a killed run got that far) is left as it is."""
    number = 0
    for index, mark in enumerate(marks):
        for piece in range(len(mark["pieces"])):
            for hidden, final in zip(shard_files(piece, _piece_prefix(index)), shard_files(number), strict=True):
                if (out / hidden).is_file():
                    (out / hidden).replace(out / final)
                elif not (out / final).is_file():
                    raise HunminError(f"{out / hidden} is gone", "finished pieces stay", f"delete {out}, run again")
            number += 1


def _encode_task(task: _Task, tokenizer: Path, out: Path, shard_tokens: int) -> float:
    """Encode one task into pieces of about `shard_tokens` tokens, mark it as done, and return its megabytes."""
    encoder = _encoder(tokenizer)
    unk_id = encoder.special_ids["unk"]
    counts: dict[str, Any] = {"pieces": [], "unk": 0, "empty_documents": 0}
    pending: list[Batch] = []

    def close_piece() -> None:
        joined = _join(pending)
        entry = write_shard(out, len(counts["pieces"]), *joined, prefix=_piece_prefix(task.number))
        counts["pieces"].append(entry if task.copies == 1 else {**entry, COPIES: task.copies})
        pending.clear()

    for documents in _read(task):
        batch = encoder.encode(documents)
        counts["unk"] += int((batch.tokens_T == unk_id).sum())
        counts["empty_documents"] += len(documents) - (len(batch.documents) - 1)
        while len(batch.tokens_T):
            room = shard_tokens - sum(len(part.tokens_T) for part in pending)
            head, batch = _cut(batch, room)
            pending.append(head)
            if len(head.tokens_T) >= room:
                close_piece()
    if pending:
        close_piece()
    with atomic_write(_mark(out, task.number)) as stream:
        json.dump(counts, stream)
    return task.megabytes


def _some_text(tasks: list[_Task]) -> list[str]:
    texts: list[str] = []
    for task in tasks[:: -(-len(tasks) // TASKS)]:
        for documents in islice(_read(task), 1):
            texts += documents[:SAMPLE_DOCUMENTS].flatten().to_pylist()
    return texts


def _read(task: _Task) -> Iterator[pa.ListArray]:
    for group in read_shard(task.path, ["sentences"], task.groups):
        for start in range(0, group.num_rows, BATCH_DOCUMENTS):
            yield group.column("sentences").slice(start, BATCH_DOCUMENTS)


def _cut(batch: Batch, room: int) -> tuple[Batch, Batch]:
    """Return the batch up to the first document end at or past `room` tokens, and the rest."""
    at = int(np.searchsorted(batch.documents, room))
    at = batch.documents[min(at, len(batch.documents) - 1)]
    heads = [offsets[: np.searchsorted(offsets, at) + 1] for offsets in batch[1:]]
    tails = [offsets[np.searchsorted(offsets, at) :] - at for offsets in batch[1:]]
    return Batch(batch.tokens_T[:at], *heads), Batch(batch.tokens_T[at:], *tails)


def _join(batches: list[Batch]) -> Batch:
    before = np.concatenate(([0], np.cumsum([len(batch.tokens_T) for batch in batches])))
    joined = []
    for kind in (1, 2):
        starts = [batch[kind][:-1] + shift for batch, shift in zip(batches, before, strict=False)]
        joined.append(np.concatenate([*starts, before[-1:]]))
    return Batch(np.concatenate([batch.tokens_T for batch in batches]), *joined)
