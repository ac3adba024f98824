"""The work of one unit: a block of lines in, a part file (documents, keys) and a side file (counts) out.

A unit depends on its block and the settings alone, and its part is named after a hash of both. The part file appears
last and by one rename, so a unit whose part is there is finished. Personal data is replaced before anything but the
raw line number is written or logged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from itertools import compress, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from common.errors import UserError
from common.files import atomic_write
from common.secrets import masked_urls
from data.cleaning.rules import clean, keep_sentences
from data.cleaning.settings import CleanSettings
from data.decontaminate.matcher import Decontaminator
from data.deduplicate.exact import keys_of
from data.deduplicate.settings import DeduplicateSettings
from data.deduplicate.sides import Sides
from data.filters.chain import NO_FILTERS, FilterChain
from data.nfc import nfc
from data.pii.surrogate import Pseudonymizer, pseudonymize
from data.readers.blocks import filled
from data.readers.damage import DamagedInputError
from data.readers.formats import parse_block
from data.readers.markup import holds_wiki_markup
from data.readers.records import Block, Document, InputFile, Item, Reject, Skipped
from data.readers.settings import Format
from data.shards import SCHEMA, write_table
from data.splitting.scan import split_sentences
from data.statistics.counts import Counters, merge, text_size
from data.units.survey import documents_of

MOST_SOURCES = 10_000
SAMPLED_FILES = 20
"""Files whose first document is read to see whether records name their sources."""
COUNTED = ("read", "markup", "rejects", "skipped", "cleaning", "pii", "decontamination", "dropped", "lost", "filters")
"""What a unit counts by name, beside the sentences (`split`)."""
NO_SENTENCE = "no sentence after cleaning"
"""Reason for which a document is left out when cleaning leaves no sentence of it."""
MARKUP_SAMPLE = 100
"""Documents of a source in which wiki markup is looked for, of each batch."""
BATCH_CHARACTERS = 2_000_000
"""Text of a batch: enough for the batched steps to run at full speed, little enough for a worker's memory."""
PART_SCHEMA = pa.schema(
    [*SCHEMA, pa.field("high", pa.uint64()), pa.field("low", pa.uint64()), pa.field("bytes", pa.int64())]
)


@dataclass(frozen=True)
class UnitTask:
    """One block of one input file; `key` is what `unit_key` gives for it."""

    file: InputFile
    format: Format
    block: Block
    key: str

    @property
    def name(self) -> str:
        return f"{self.file.path} from line {self.block.first_line} ({self.block.size} bytes)"


class UnitDone(NamedTuple):
    """The result of a unit."""

    bytes: int
    """Bytes of input."""
    rejects: int
    """Records that hold no document."""
    damages: list[tuple[str, str]]
    """Path and reason of an input of which the rest was quarantined."""


def unit_key(file: InputFile, format: Format, block: Block) -> str:
    """Return 32 hex digits that identify all that a unit's part depends on, except the settings of the whole corpus.

    They cover the block's bytes and its place in the file, the file's label and name (which ids and rejects hold) and
    the source's settings. The file's folder and its place among the inputs make no difference.

    Args:
        block: records of it; one that refers to records must hold a hash of the file in its reference.
    """
    facts = {
        "label": file.label,
        "name": masked_urls(file.path).rsplit("/", 1)[-1],
        "source": read_as(file),
        "format": format,
        "block": {item.name: getattr(block, item.name) for item in fields(block) if item.name != "data"},
    }
    digest = xxhash.xxh3_128(orjson.dumps(facts, option=orjson.OPT_SORT_KEYS))
    digest.update(block.data)
    return digest.hexdigest()


def read_as(file: InputFile) -> dict[str, Any]:
    """Return the settings that a file is read with, without its path and without defaults."""
    return file.settings.model_dump(mode="json", exclude={"path"}, exclude_defaults=True)


def named(file: InputFile) -> dict[str, str]:
    """Return a file's name in lists of rejects: its label and its name, without its folder."""
    return {"source": file.label, "file": nfc(masked_urls(file.path).rsplit("/", 1)[-1])}


def check_sources(count: int) -> None:
    """Raise a UserError for more sources than statistics are counted of."""
    if count > MOST_SOURCES:
        raise UserError(
            f"there are more than {MOST_SOURCES:,} sources",
            "a source is a collection of documents; figures of each are kept in memory and in every manifest",
            "where the field `source` names single documents, give the source a `name`, or another `source_field`",
        )


def check_unnamed(files: list[InputFile]) -> None:
    """Raise a UserError when more files than there may be sources would each be a source of its own, before any work.

    A file without `name` is one unless its records name their source; a sample of the files tells.
    """
    unnamed = [file for file in files if not file.settings.name]
    if len(unnamed) <= MOST_SOURCES:
        return
    sample = unnamed[:: max(1, len(unnamed) // SAMPLED_FILES)]
    documents = [(file, document) for file in sample for document in islice(documents_of(file), 1)]
    own = sum(document.source == file.label for file, document in documents)
    if documents and own * len(unnamed) > MOST_SOURCES * len(documents):
        raise UserError(
            f"{len(unnamed):,} files have no `name`, and their records name no source",
            f"each would be a source of its own, of which there may be {MOST_SOURCES:,}",
            "give the input a name: {path: FOLDER, name: NAME}, or set its `source_field`",
        )


def part_path(folder: Path, key: str) -> Path:
    """Return the path of a unit's part file; its side files have the same stem."""
    return folder / f"part-{key}.parquet"


@dataclass(frozen=True)
class UnitWork:
    """Function of a `UnitTask`; sent once to each worker."""

    folder: Path
    clean: CleanSettings
    decontaminator: Decontaminator | None
    key: bytes | None = field(repr=False)
    pii_types: tuple[str, ...]
    deduplicate: DeduplicateSettings
    filters: FilterChain = NO_FILTERS

    def __call__(self, task: UnitTask) -> UnitDone:
        """Do one unit and return how much it read; DiskFullError where no space is left, and nothing of the part."""
        state = UnitState(self)
        rules = task.file.settings.clean or self.clean
        batches = state.batches(parse_block(task.file, task.format, task.block), task.file)
        tables = [state.process(documents, rules) for documents in batches]
        path = part_path(self.folder, task.key)
        state.sides.write(path)
        with atomic_write(path.with_suffix(".json"), "wb") as stream:
            lists = {"rejects": state.rejects, "hits": state.hits, "filtered": state.filtered}
            stream.write(orjson.dumps({"counts": state.counts, **lists, "damage": state.damage}))
        empty = pa.schema([*PART_SCHEMA, *self.filters.schema]).empty_table()
        write_table(path, pa.concat_tables([empty, *tables]), 1 << 16, level=1)
        damages = [(task.file.path, state.damage["reason"])] if state.damage else []
        return UnitDone(task.block.size, len(state.rejects), damages)


class UnitState:
    """The state of a running unit: rows, rejects and counts."""

    def __init__(self, work: UnitWork) -> None:
        self._decontaminator = work.decontaminator
        self._pseudonymizer = self._pseudonymizer_of_licences = None
        if work.key is not None:
            self._pseudonymizer = Pseudonymizer(work.key, work.pii_types)
            self._pseudonymizer_of_licences = Pseudonymizer(work.key, set(work.pii_types) - {"URL"})
        self._filters = work.filters
        self.sides = Sides(work.deduplicate)
        self.rejects: list[dict[str, Any]] = []
        self.hits: list[dict[str, Any]] = []
        self.damage: dict[str, Any] | None = None
        self.filtered: list[dict[str, Any]] = []
        self.counts: Counters = {name: {} for name in COUNTED} | {"split": 0}

    def batches(self, parsed: Iterator[Item], file: InputFile) -> Iterator[list[Document]]:
        """Return the documents in batches, setting the rejects aside and counting what is skipped.

        Where the file turns out to be damaged they end, and `damage` says so.
        """
        documents = self._documents(parsed, file)
        return filled(documents, lambda document: len(document.text), BATCH_CHARACTERS)

    def _documents(self, parsed: Iterator[Item], file: InputFile) -> Iterator[Document]:
        try:
            for item in parsed:
                if isinstance(item, Reject):
                    merge(self.counts["rejects"], {item.reason: 1})
                    self.rejects.append({**named(file), "line": item.line, "reason": item.reason})
                elif isinstance(item, Skipped):
                    merge(self.counts["skipped"], {item.reason: 1})
                else:
                    yield item
        except DamagedInputError as error:
            self.damage = {**named(file), "reason": error.reason}

    def process(self, documents: list[Document], rules: CleanSettings) -> pa.Table:
        """Return the part's rows for a batch of documents; those that keep no sentence are counted and left out."""
        if self._pseudonymizer:
            documents = self.without_personal_fields(documents)
        self._count_read(documents)
        texts = [clean(document.text, rules, self.counts["cleaning"]) for document in documents]
        scores: dict[str, np.ndarray] = {}
        if self._filters:
            documents, texts, scores = self.filter(documents, texts)
        if self._pseudonymizer:
            texts = self._pseudonymise(self._pseudonymizer, texts)
        split = [split_sentences(text) for text in texts]
        flat = [sentence for sentences in split for sentence in sentences]
        owner = np.repeat(np.arange(len(documents)), [len(sentences) for sentences in split])
        self.counts["split"] += len(flat)
        stays = np.array(keep_sentences(flat, rules, self.counts["cleaning"]), bool)
        flat, owner = list(compress(flat, stays.tolist())), owner[stays]
        numbers = np.flatnonzero(stays)
        self._count_dropped(NO_SENTENCE, len(documents) - len(np.unique(owner)))
        self._count_uncleaned(documents, split, owner, rules)
        if self._decontaminator and flat:
            before = np.unique(owner)
            clear = self._decontaminate(flat, owner, documents)
            flat, owner = list(compress(flat, clear.tolist())), owner[clear]
            numbers = numbers[clear]
            lost = np.setdiff1d(before, owner)
            self._count_dropped("only benchmark sentences", len(lost))
            for place in lost.tolist():
                merge(self.counts["lost"].setdefault(documents[place].source, {}), {"only benchmark sentences": 1})
        self.sides.add(texts, split, numbers)
        return _table(documents, texts, flat, owner, scores)

    def filter(
        self, documents: list[Document], texts: list[str]
    ) -> tuple[list[Document], list[str], dict[str, np.ndarray]]:
        """Return the documents that the filters keep, their texts and scores."""
        filtered = self._filters.apply(documents, texts)
        merge(self.counts["filters"], filtered.counts)
        self.filtered += filtered.dropped
        return filtered.documents, filtered.texts, filtered.scores

    def _count_read(self, documents: list[Document]) -> None:
        by_source: dict[str, list[str]] = {}
        for document in documents:
            by_source.setdefault(document.source, []).append(document.text)
        for source, texts in by_source.items():
            merge(self.counts["read"].setdefault(source, {}), text_size(texts))
            sample = texts[:MARKUP_SAMPLE]
            marked = sum(map(holds_wiki_markup, sample))
            merge(self.counts["markup"].setdefault(source, {}), {"documents": len(sample), "marked": marked})
        check_sources(len(self.counts["read"]))

    def _count_dropped(self, reason: str, count: int) -> None:
        if count:
            merge(self.counts["dropped"], {reason: count})

    def _count_uncleaned(
        self, documents: list[Document], split: list[list[str]], owner: np.ndarray, rules: CleanSettings
    ) -> None:
        lost: dict[str, list[int]] = {}
        for place in np.setdiff1d(np.arange(len(documents)), owner).tolist():
            lost.setdefault(documents[place].source, []).append(place)
        for source, places in lost.items():
            taken: Counters = {}
            keep_sentences([sentence for place in places for sentence in split[place]], rules, taken)
            most = max(taken, key=lambda rule: taken[rule]["hits"], default="no text")
            merge(self.counts["lost"].setdefault(source, {}), {f"cleaning {most}": len(places)})

    def without_personal_fields(self, documents: list[Document]) -> list[Document]:
        """Return the documents with id, source and licence pseudonymised; a licence may be the URL of its terms."""
        ids = self._pseudonymise(self._pseudonymizer, [document.id for document in documents])
        sources = self._pseudonymise(self._pseudonymizer, [document.source for document in documents])
        licences = self._pseudonymise(self._pseudonymizer_of_licences, [document.licence for document in documents])
        return [
            document._replace(id=id, source=source, licence=licence)
            for document, id, source, licence in zip(documents, ids, sources, licences, strict=True)
        ]

    def _pseudonymise(self, pseudonymizer: Pseudonymizer | None, texts: list[str]) -> list[str]:
        assert pseudonymizer is not None
        times = Counter(texts)  # most documents of a source share source and licence
        changed = dict(zip(times, pseudonymize(pseudonymizer, list(times)), strict=True))
        for text, (_, replacements) in changed.items():
            for replacement in replacements:
                self.counts["pii"][replacement.type] = self.counts["pii"].get(replacement.type, 0) + times[text]
        return [changed[text][0] for text in texts]

    def _decontaminate(self, flat: list[str], owner: np.ndarray, documents: list[Document]) -> np.ndarray:
        assert self._decontaminator is not None
        clear = np.ones(len(flat), bool)
        first = np.searchsorted(owner, owner)
        for index, hit in enumerate(self._decontaminator.match(flat)):
            if hit is None:
                continue
            clear[index] = False
            merge(self.counts["decontamination"].setdefault(hit.task, {}), {hit.rule: 1})
            place = {"id": documents[owner[index]].id, "sentence": int(index - first[index])}
            self.hits.append({**place, **hit.as_record(), "text": flat[index], "benchmark_text": hit.text})
        return clear


def _table(
    documents: list[Document], texts: list[str], flat: list[str], owner: np.ndarray, scores: dict[str, np.ndarray]
) -> pa.Table:
    present, counts = np.unique(owner, return_counts=True)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    values = pa.array(flat, pa.string())
    lengths = np.concatenate(([0], np.cumsum(pc.binary_length(values).to_numpy(zero_copy_only=False), dtype=np.int64)))
    keys = keys_of([texts[row] for row in present])
    rows = [documents[row] for row in present]
    return pa.table(
        [
            pa.array([row.id for row in rows], pa.string()),
            pa.array([row.source for row in rows], pa.string()),
            pa.array([row.licence for row in rows], pa.string()),
            pa.ListArray.from_arrays(pa.array(offsets), values),
            pa.array(keys["high"]),
            pa.array(keys["low"]),
            pa.array(np.diff(lengths[offsets])),
            *(pa.array(column[present]) for column in scores.values()),
        ],
        schema=pa.schema([*PART_SCHEMA, *(pa.field(name, pa.float32()) for name in scores)]),
    )
