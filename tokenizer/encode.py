"""The encode stage: corpus shards to token shards, one corpus shard a task, resumable and the same for any workers.

A task writes its pieces under hidden names, then a mark with their sizes; a killed run keeps every corpus shard that
has its mark. When all have, the pieces are numbered through in the order of the corpus shards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from common.errors import HunminError, UserError
from common.files import atomic_write, decompression_errors
from common.progress import ProgressBar
from tokenizer.encoder import Batch, Encoder
from tokenizer.save import load_tokenizer
from tokenizer.settings import EncodeSettings
from tokenizer.shards import shard_files, write_meta, write_shard
from tokenizer.workers import run_tasks

__all__ = ["EncodeSettings", "encode_corpus"]

BATCH_DOCUMENTS = 2048
"""Documents that are read and encoded together."""


def encode_corpus(settings: EncodeSettings, corpus: Path, tokenizer: Path, out: Path) -> dict[str, Any]:
    """Encode a finished corpus folder into the token folder `out` and return the counts.

    Args:
        corpus: folder with shards/shard-*.parquet.
        tokenizer: folder with tokenizer.json (WordPiece, BERT's pre-tokenizer).
        out: an existing folder, which may hold what a killed run with the same inputs left.

    Raises:
        UserError: the corpus has no shard or no token, or the tokenizer is none that this stage can be exact for.
    """
    encoder = Encoder(load_tokenizer(tokenizer), tokenizer)
    shards = sorted((Path(corpus) / "shards").glob("shard-*.parquet"))
    if not shards:
        raise UserError(f"{corpus} holds no shards", "the encode stage reads a finished corpus folder", "build it first")
    todo = [index for index in range(len(shards)) if not _mark(out, index).is_file()]
    tasks = [(shards[index], tokenizer, out, index, settings.shard_tokens) for index in todo]
    with ProgressBar("encode", total=len(shards), unit="shards", done=len(shards) - len(todo)) as bar:
        for _ in run_tasks(_encode_shard, tasks, settings.workers):
            bar.advance(1)
    marks = [json.loads(_mark(out, index).read_text(encoding="utf-8")) for index in range(len(shards))]
    entries = [piece for mark in marks for piece in mark["pieces"]]
    if not entries:
        raise UserError(f"{corpus} holds no text", "a corpus to encode holds at least one token", "check the corpus")
    _number_through(out, marks)
    unk = sum(mark["unk"] for mark in marks)
    meta = write_meta(out, encoder.vocab_size, encoder.special_ids, entries, unk)
    for index in range(len(shards)):
        _mark(out, index).unlink()
    counts = {name: meta[name] for name in ("tokens", "documents", "sentences", "unk")}
    empty = sum(mark["empty_documents"] for mark in marks)
    return {**counts, "empty_documents": empty, "shards": len(entries), "vocab_size": encoder.vocab_size}


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


def _encode_shard(shard: Path, tokenizer: Path, out: Path, index: int, shard_tokens: int) -> None:
    """Encode one corpus shard into pieces of about `shard_tokens` tokens, then mark it as done."""
    encoder = Encoder(load_tokenizer(tokenizer), tokenizer)
    unk_id = encoder.special_ids["unk"]
    counts: dict[str, Any] = {"pieces": [], "unk": 0, "empty_documents": 0}
    pending: list[Batch] = []

    def close_piece() -> None:
        joined = _join(pending)
        counts["pieces"].append(write_shard(out, len(counts["pieces"]), *joined, prefix=_piece_prefix(index)))
        pending.clear()

    for documents in _read(shard):
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
    with atomic_write(_mark(out, index)) as stream:
        json.dump(counts, stream)


def _read(shard: Path) -> Iterator[list[list[str]]]:
    with decompression_errors(shard):
        for batch in pq.ParquetFile(shard).iter_batches(batch_size=BATCH_DOCUMENTS, columns=["sentences"]):
            yield [sentences or [] for sentences in batch.column("sentences").to_pylist()]


def _cut(batch: Batch, room: int) -> tuple[Batch, Batch]:
    """Return the batch up to the first document end at or past `room` tokens, and the rest."""
    at = int(np.searchsorted(batch.documents, room))
    at = batch.documents[min(at, len(batch.documents) - 1)]
    heads = [offsets[: np.searchsorted(offsets, at) + 1] for offsets in batch[1:]]
    tails = [offsets[np.searchsorted(offsets, at) :] - at for offsets in batch[1:]]
    return Batch(batch.tokens_T[:at], *heads), Batch(batch.tokens_T[at:], *tails)


def _join(batches: list[Batch]) -> Batch:
    """Return several batches as one."""
    before = np.concatenate(([0], np.cumsum([len(batch.tokens_T) for batch in batches])))
    joined = []
    for kind in (1, 2):
        starts = [batch[kind][:-1] + shift for batch, shift in zip(batches, before, strict=False)]
        joined.append(np.concatenate([*starts, before[-1:]]))
    return Batch(np.concatenate([batch.tokens_T for batch in batches]), *joined)
