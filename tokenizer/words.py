"""Counting the words of a sample of the corpus, in pieces that any number of processes may take."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.compute as pc

from common.errors import UserError
from common.files import decompression_errors, expand, is_remote, open_bytes
from data.shards import SHARDS, read_shard, shard_paths
from tokenizer.pipeline import split_eojeols, split_words
from tokenizer.sampling import keep

TEXT_PIECE = 1 << 26
"""Bytes of an uncompressed text file that one task reads."""
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


class Piece(NamedTuple):
    """One task: a corpus shard, or the lines of a text file that start in a range of its bytes."""

    path: str
    start: int = 0
    end: int | None = None

    @property
    def name(self) -> str:
        """Return what messages call the piece."""
        return self.path if self.end is None else f"{self.path} from byte {self.start}"


def corpus_pieces(corpus: str | Path) -> list[Piece]:
    """Return the pieces of a corpus: a finished corpus folder, a text file (a document a line), or a glob of such.

    Raises:
        UserError: nothing is there, or a file is of a kind that is not plain text.
    """
    if (Path(corpus) / SHARDS).is_dir():
        return [Piece(str(path)) for path in shard_paths(corpus)]
    pieces: list[Piece] = []
    for path in expand(str(corpus)):
        plain = path
        for suffix in _COMPRESSED:
            plain = plain.removesuffix(suffix)
        if plain.endswith((".json", ".jsonl", ".parquet", ".csv", ".tsv")):
            raise UserError(
                f"{path} is not plain text",
                "a tokenizer is trained on a finished corpus folder, or on text files with a document a line",
                "build a corpus of it first: hunmin corpus build",
            )
        if is_remote(path) or plain != path:
            pieces.append(Piece(path))
        else:
            size = Path(path).stat().st_size
            pieces += [Piece(path, start, min(start + TEXT_PIECE, size)) for start in range(0, size, TEXT_PIECE)]
    return pieces


def source_sizes(piece: Piece) -> dict[str, int]:
    """Return the bytes of text of each source in a piece."""
    sizes: Counter[str] = Counter()
    if piece.path.endswith(".parquet"):
        for batch in read_shard(Path(piece.path), ["source", "sentences"]):
            sentences, sources = batch.column("sentences"), batch.column("source").to_pylist()
            lengths = pc.binary_length(pc.list_flatten(sentences)).to_pylist()
            for document, length in zip(pc.list_parent_indices(sentences).to_pylist(), lengths, strict=True):
                sizes[sources[document]] += length
    elif piece.end is not None:
        sizes[piece.path] = piece.end - piece.start
    else:
        sizes[piece.path] = sum(len(line) for _, line in _lines(piece))
    return dict(sizes)


def _lines(piece: Piece) -> Iterator[tuple[int, bytes]]:
    """Yield (byte offset, line) for the lines that start inside the piece."""
    with open_bytes(piece.path) as stream, decompression_errors(piece.path):
        offset = piece.start
        if offset:
            # The line that straddles the start belongs to the piece before.
            stream.seek(offset - 1)
            offset += len(stream.readline()) - 1
        while piece.end is None or offset < piece.end:
            line = stream.readline()
            if not line:
                return
            yield offset, line
            offset += len(line)


def _texts(piece: Piece, shares: dict[str, float], seed: int) -> Iterator[str]:
    if piece.path.endswith(".parquet"):
        for batch in read_shard(Path(piece.path), ["id", "source", "sentences"]):
            columns = (batch.column(name).to_pylist() for name in ("id", "source", "sentences"))
            for name, source, sentences in zip(*columns, strict=True):
                if keep(name, shares[source], seed):
                    yield from sentences
        return
    file = os.path.basename(piece.path)  # noqa: PTH119 - also for URLs
    for offset, line in _lines(piece):
        if keep(f"{file}:{offset}", shares[piece.path], seed):
            yield line.decode("utf-8", errors="replace")


def count_words(piece: Piece, shares: dict[str, float], seed: int) -> dict[str, int]:
    """Return how often each word (see `split_words`) occurs in the sampled documents of a piece.

    Args:
        shares: share of each source to take, see `source_shares`.
    """
    eojeols: Counter[str] = Counter()
    for text in _texts(piece, shares, seed):
        eojeols.update(split_eojeols(text))
    words: dict[str, int] = {}
    for eojeol, count in eojeols.items():
        for word in split_words(eojeol):
            words[word] = words.get(word, 0) + count
    return words


def add_counts(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Return the sum of several counts."""
    total: dict[str, int] = {}
    for part in parts:
        if not total:
            total = dict(part)
            continue
        for key, count in part.items():
            total[key] = total.get(key, 0) + count
    return total


def count_characters(words: dict[str, int]) -> Counter[str]:
    """Return how often each character occurs, given words and their counts."""
    characters: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    return characters
