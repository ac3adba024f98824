"""Counting the words of a sample of the corpus, in pieces that any number of processes may take."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from common.compressed import compression_of, decompression_errors
from common.files import HUB, is_remote, open_bytes, suffix_of
from common.globs import expand
from common.once import once_file
from data.nfc import nfc
from data.readers.formats import parse_block, read_blocks
from data.readers.paths import list_files
from data.readers.records import Reject, Skipped
from data.readers.registry import BY_SUFFIX
from data.shards import SHARDS, copies_of, read_shard, read_shard_manifest, row_groups, shard_paths
from data.units.fields import check_fields
from tokenizer.counts import write_counts
from tokenizer.pipeline import split_eojeols
from tokenizer.sampling import Sample

TEXT_PIECE = 1 << 26
"""Bytes of an uncompressed text file that one task reads."""
GROUPS_PIECE = 4
"""Row groups of a corpus shard that one task reads: about as much text."""
MOST_DISTINCT = 1_000_000
"""Distinct eojeol that a process holds; then the counts of their words go to the disk."""
READ_BYTES = 8_000_000
"""Records of a file in one of the corpus's formats that are parsed at once."""


class Piece(NamedTuple):
    """One task: some row groups of a corpus shard, or the lines of a text file that start in a range of its bytes."""

    path: str
    start: int = 0
    end: int | None = None
    """None: all of a file whose size is not known before it is read."""

    @property
    def name(self) -> str:
        place = "row group" if self.is_shard else "byte"
        return self.path if self.end is None else f"{self.path} from {place} {self.start}"

    @property
    def is_shard(self) -> bool:
        """Return whether it is of a corpus shard."""
        return self.path.endswith(".parquet") and self.end is not None


def corpus_pieces(corpus: str | Path) -> list[Piece]:
    """Return the pieces of a corpus: a finished corpus folder, a file, a data set of the hub, or a glob of files.

    Files whose names end like one of the corpus's formats are read as these, all others as a document a line.

    Raises:
        UserError: nothing is there, or files lack the field with the text.
    """
    if (Path(corpus) / SHARDS).is_dir():
        # a held-out text tells nothing to the vocabulary either; copies would only make its counts larger
        counts = {str(path): row_groups(path) for path in shard_paths(corpus) if copies_of(path)}
        return [piece for path, count in counts.items() for piece in _cut(path, count, GROUPS_PIECE)]
    pieces: list[Piece] = []
    paths = [str(corpus)] if str(corpus).startswith(HUB) else expand(str(corpus))
    check_fields([file for path in paths if is_formatted(path) for file in list_files([path])])
    for path in paths:
        whole = is_remote(path) or compression_of(path) or is_formatted(path)
        pieces += [Piece(path)] if whole else _cut(path, Path(path).stat().st_size, TEXT_PIECE)
    return pieces


def is_formatted(path: str) -> bool:
    """Return whether a file is in one of the corpus's formats, by its name, and not a document a line."""
    suffix = suffix_of(path)
    return path.startswith(HUB) or suffix in BY_SUFFIX or suffix in (".json", ".xml")


def formatted_texts(path: str) -> Iterator[str | None]:
    """Yield the texts of a file in one of the corpus's formats; None for a record that holds none.

    Raises:
        UserError: it cannot be read, is damaged or cut short.
    """
    for file in list_files([path]):
        for format, block in read_blocks(file, READ_BYTES):
            for item in parse_block(file, format, block):
                if not isinstance(item, Skipped):
                    yield None if isinstance(item, Reject) else item.text


def _cut(path: str, size: int, most: int) -> list[Piece]:
    return [Piece(path, start, min(start + most, size)) for start in range(0, size, most)]


def source_sizes(piece: Piece) -> dict[str, int]:
    """Return the bytes of text of each source in a piece; of a corpus shard, all of them with its first piece."""
    if piece.is_shard:
        sources = read_shard_manifest(Path(piece.path))["sources"] if piece.start == 0 else {}
        return {name: facts["bytes"] for name, facts in sources.items()}
    if is_formatted(piece.path):
        return {piece.path: sum(len(text.encode()) for text in formatted_texts(piece.path) if text)}
    if piece.end is not None:
        return {piece.path: piece.end - piece.start}
    return {piece.path: sum(len(line) for _, line in _lines(piece))}


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


@dataclass
class Seen:
    """Counts of a piece beside its words."""

    held_out: list[str] = field(default_factory=list)
    """Texts of the documents that are held out."""
    sampled_bytes: int = 0
    """Text of the documents that are trained on."""
    lines: int = 0
    broken_lines: int = 0
    """Lines of a text file that are not UTF-8; `lines` are all of them."""


def decode_line(line: bytes) -> tuple[str, bool]:
    """Return a line of text, and whether it is UTF-8; of one that is not, bytes are replaced by U+FFFD."""
    try:
        return line.decode(), True
    except UnicodeDecodeError:
        return line.decode("utf-8", errors="replace"), False


def _documents(piece: Piece, seen: Seen) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (source, key, texts) of the documents of a piece."""
    if piece.is_shard:
        groups = None if piece.end is None else range(piece.start, piece.end)
        for batch in read_shard(Path(piece.path), ["id", "source", "sentences"], groups):
            columns = (batch.column(name).to_pylist() for name in ("source", "id", "sentences"))
            yield from zip(*columns, strict=True)
        return
    file = os.path.basename(piece.path)  # noqa: PTH119 - also for URLs
    if is_formatted(piece.path):
        for number, document in enumerate(formatted_texts(piece.path)):
            seen.lines += 1
            if document is not None:
                yield piece.path, f"{file}:{number}", [document]
        return
    for offset, line in _lines(piece):
        text, whole = decode_line(line)
        seen.lines += 1
        seen.broken_lines += not whole
        yield piece.path, f"{file}:{offset}", [text]


def count_words(
    piece: Piece, sample: Sample, split: Callable[[str], list[str]], user_tokens: Sequence[str], seen: Seen
) -> Iterator[dict[str, int]]:
    """Yield how often each word occurs in the sampled documents of a piece, in as many parts as memory asks for.

    Args:
        split: the words of an eojeol (see `split_words`).
        user_tokens: never cut and never part of a word, so taken out of the text.
    """
    apart = re.compile("|".join(map(re.escape, sorted(user_tokens, key=len, reverse=True)))) if user_tokens else None
    eojeols: Counter[str] = Counter()
    for source, key, texts in _documents(piece, seen):
        if sample.trains(source, key):
            for text in texts:
                seen.sampled_bytes += len(text.encode())
                eojeols.update(split_eojeols(apart.sub(" ", nfc(text)) if apart else text))
            if len(eojeols) >= MOST_DISTINCT:
                yield _words(eojeols, split)
                eojeols.clear()
        elif sample.holds_out(key):
            seen.held_out += texts
    yield _words(eojeols, split)


def _words(eojeols: Counter[str], split: Callable[[str], list[str]]) -> dict[str, int]:
    words: dict[str, int] = {}
    for eojeol, count in eojeols.items():
        for word in split(eojeol):
            words[word] = words.get(word, 0) + count
    return words


class WordsTask(NamedTuple):
    """A piece, with its place among all."""

    piece: Piece
    number: int

    @property
    def name(self) -> str:
        return self.piece.name

    def file(self, folder: Path, part: int) -> Path:
        """Return the file of a part of the piece's counts."""
        return folder / f"words-{self.number:05d}-{part:03d}.parquet"

    def mark(self, folder: Path) -> Path:
        """Return the file that says that the piece is done."""
        return folder / f"words-{self.number:05d}.json"

    def held_out(self, folder: Path) -> Path:
        """Return the file of the piece's held-out texts."""
        return folder / f"held-{self.number:05d}.txt"


class Tally(NamedTuple):
    """Counts of a piece, or of several."""

    words: int = 0
    sampled_bytes: int = 0
    lines: int = 0
    broken_lines: int = 0


@dataclass(frozen=True)
class WordsWork:
    """The function of a piece: its word counts and held-out texts go into `folder`, unless they are there."""

    folder: Path
    sample: Sample
    split: Callable[[str], list[str]]
    user_tokens: tuple[str, ...]
    partitions: int

    def __call__(self, task: WordsTask) -> tuple[Tally, list[Path]]:
        mark = once_file(task.mark(self.folder), partial(self._count, task))
        parts, tally = json.loads(mark.read_bytes())
        return Tally(*tally), [task.file(self.folder, part) for part in range(parts)]

    def _count(self, task: WordsTask, mark: IO[bytes]) -> None:
        seen = Seen()
        words = 0
        parts = 0
        for part in count_words(task.piece, self.sample, self.split, self.user_tokens, seen):
            write = partial(write_counts, counts=part, partitions=self.partitions, facts={})
            once_file(task.file(self.folder, parts), write)
            words, parts = words + sum(part.values()), parts + 1
        held_out = [(text.rstrip("\n") + "\n").encode() for text in seen.held_out]
        once_file(task.held_out(self.folder), lambda stream: stream.writelines(held_out))
        tally = Tally(words, seen.sampled_bytes, seen.lines, seen.broken_lines)
        mark.write(json.dumps([parts, tally]).encode())


def by_count(words: Mapping[str, int]) -> dict[int, list[str]]:
    """Return count → the words that occur so often: most occur once, and those are counted together."""
    groups: dict[int, list[str]] = {}
    for word, count in words.items():
        groups.setdefault(count, []).append(word)
    return groups


def count_characters(words: Mapping[str, int]) -> Counter[str]:
    """Return how often each character occurs, given words and their counts."""
    characters: Counter[str] = Counter()
    for count, some in by_count(words).items():
        for character, occurrences in Counter("".join(some)).items():
            characters[character] += count * occurrences
    return characters
