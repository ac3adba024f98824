"""The sample of a corpus as counts of pieces on the disk: read, split into words, each distinct word cut once.

    corpus ─► sample ─► words-*.parquet (one a part of the corpus) ─► pieces-*.parquet (one a partition of the words)

A killed run continues with the files that are missing, and no process holds more than a part of the counts.
"""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from common.errors import UserError
from common.files import HUB, is_remote
from common.once import once_file
from common.process import available_cores
from common.progress import ProgressBar, say
from common.settings import dump_settings, settings_hash
from data.executors.local import LocalPool
from data.readers.volume import content_hash, file_version
from data.shards import read_shard_manifest
from tokenizer.counts import Counts, read_facts, write_counts
from tokenizer.morphemes import CUTTERS, count_pieces
from tokenizer.pipeline import split_known_words, split_spaces
from tokenizer.sampling import Sample, source_shares
from tokenizer.settings import TokenizerSettings
from tokenizer.words import Piece, Tally, WordsTask, WordsWork, corpus_pieces, count_characters, source_sizes

COUNTED_SETTINGS = ("model", "pretokenizer", "sample_mb", "seed", "user_tokens")
"""Settings that the counts depend on."""
HELD_OUT_SHARE, HELD_OUT_BYTES = 0.01, 2_000_000
"""Documents that are never trained on, so that a vocabulary can be measured on text it has not seen: one in a hundred,
but no more than about two megabytes."""
MOST_BROKEN = 0.1
"""Share of lines that are not UTF-8 above which the text has another encoding, or is no text."""
PARTITION_BYTES, MOST_PARTITIONS = 8_000_000, 256
"""Sampled text for each partition of the counts; the files of a piece of the corpus have all partitions."""


@dataclass(frozen=True)
class Counted:
    """Counts of a sample's pieces and characters, and its held-out texts."""

    pieces: Counts
    """Marked pieces of words, and how often each occurs."""
    characters: Counter[str]
    held_out: list[Path]
    """Text files of the documents that are not in it, a sentence or document a line."""
    corpus: str | None
    """Hash of what was read; None when nobody can tell whether it stays the same."""
    facts: dict[str, int]
    """Sizes, for reports. Pre-tokens are what `split_known_words` makes of the sample: more than its words, since
    punctuation is apart."""


def count_corpus(settings: TokenizerSettings, corpus: str | Path, work: Path) -> Counted:
    """Return the counts of a sample of a corpus.

    Args:
        corpus: a finished corpus folder, a file (see `corpus_pieces`), or a glob of such.
        work: folder for the counts; what a killed run with the same settings and corpus left there is used.

    Raises:
        UserError: the corpus is missing, no text or holds no words; the analyser is not installed.
    """
    pieces = corpus_pieces(corpus)
    content = _content_hash(pieces)
    folder = work / settings_hash({"corpus": content, **{k: dump_settings(settings)[k] for k in COUNTED_SETTINGS}})
    if content is None:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    workers = settings.workers or available_cores()
    with LocalPool(workers if len(pieces) > 1 else 1) as execute:
        sizes: Counter[str] = Counter()
        for part in execute(source_sizes, pieces):
            sizes.update(part)
        total = sum(sizes.values())
        shares = source_shares(sizes, settings.sample_mb * 1e6)
        sample = Sample(shares, min(HELD_OUT_SHARE, HELD_OUT_BYTES / max(total, 1)), settings.seed)
        sampled = sum(sizes[name] * shares[name] for name in sizes) * (1 - sample.held_out)
        partitions = max(1, min(MOST_PARTITIONS, round(sampled / PARTITION_BYTES)))
        tasks = [WordsTask(piece, number) for number, piece in enumerate(pieces)]
        split = split_spaces if settings.model == "unigram" else split_known_words
        say(f"tokenizer: counting words of {sampled / 1e6:.1f} MB")
        count = WordsWork(folder, sample, split, tuple(settings.user_tokens), partitions)
        with ProgressBar("words", len(tasks), "pieces") as bar:
            counted = execute(count, tasks, lambda _: bar.advance())
    tally = Tally(*(sum(values) for values in zip(*(tally for tally, _ in counted), strict=True)))
    refuse_other_encodings(str(corpus), tally.lines, tally.broken_lines)
    if not tally.words:
        raise UserError(
            f"the sample of {corpus} holds no words: it is {tally.sampled_bytes} of {total} bytes",
            "a vocabulary is trained on text, of which one document in a hundred is held out",
            "give more text, or raise sample_mb" if tally.sampled_bytes < total else "check the corpus",
        )
    files = [file for _, some in counted for file in some]
    cuts = [CutTask(partition) for partition in range(partitions)]
    with LocalPool(workers if partitions > 1 else 1) as execute, ProgressBar("pieces", partitions, "parts") as bar:
        execute(CutWork(folder, files, partitions, settings.pretokenizer), cuts, lambda _: bar.advance())
    facts = [read_facts(task.file(folder)) for task in cuts]
    characters: Counter[str] = Counter()
    for fact in facts:
        characters.update(fact["characters"])
    return Counted(
        Counts([task.file(folder) for task in cuts], partitions),
        characters,
        [task.held_out(folder) for task in tasks],
        content,
        {
            "sources": len(sizes),
            "corpus_bytes": total,
            "sampled_bytes": tally.sampled_bytes,
            "broken_lines": tally.broken_lines,
            "pre_tokens": tally.words,
            "distinct_pre_tokens": sum(fact["distinct_words"] for fact in facts),
            "distinct_characters": len(characters),
        },
    )


def refuse_other_encodings(path: str, lines: int, broken: int) -> None:
    """Raise a UserError when more than `MOST_BROKEN` of a text's lines are not UTF-8."""
    if broken > MOST_BROKEN * lines:
        raise UserError(
            f"{broken:,} of {lines:,} lines of {path} are not UTF-8",
            "text files are UTF-8; a few broken lines are passed over",
            "convert it (iconv -f cp949 -t utf-8), or build a corpus of it, which reads CP949 and UTF-16: "
            "hunmin corpus build",
        )


def _content_hash(pieces: list[Piece]) -> str | None:
    """Return a hash of the pieces' content and file names; None where a remote store does not tell a file's version."""
    paths = list(dict.fromkeys(piece.path for piece in pieces))
    if any((is_remote(path) or path.startswith(HUB)) and file_version(path).facts is None for path in paths):
        return None
    if pieces and pieces[0].is_shard:
        return settings_hash([read_shard_manifest(Path(path))["sha256"] for path in paths])
    return settings_hash([(path.rsplit("/", 1)[-1], content_hash(path)) for path in paths])


class CutTask(NamedTuple):
    """A partition of the words."""

    partition: int

    @property
    def name(self) -> str:
        return f"part {self.partition} of the words"

    def file(self, folder: Path) -> Path:
        """Return the file of the partition's counts."""
        return folder / f"pieces-{self.partition:05d}.parquet"


@dataclass(frozen=True)
class CutWork:
    """The function of a partition: the counts of its words' pieces go into `folder`, unless they are there."""

    folder: Path
    words: list[Path]
    partitions: int
    pretokenizer: str

    def __call__(self, task: CutTask) -> None:
        once_file(task.file(self.folder), partial(self._cut, task))

    def _cut(self, task: CutTask, stream: IO[bytes]) -> None:
        words = Counts(self.words, self.partitions).partition(task.partition)
        facts = {"distinct_words": len(words), "characters": count_characters(words)}
        write_counts(stream, count_pieces(words, CUTTERS[self.pretokenizer]), self.partitions, facts)
