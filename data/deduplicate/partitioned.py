"""Exact duplicates of a corpus of any size: keys shared out by hash, one task a partition, on any executor.

    parts ─► groups: the keys of some parts, sorted by slice of the hash     (a task a group)
          ─► partitions: slices of all groups; which keys repeat            (a task a partition)
          ─► names of the documents that stay, and the report               (a task a group, twice)

Every task reads and writes files of one folder, each by one rename, so a killed run goes on with the tasks that are
missing, and no task holds more than `PARTITION` keys or a group's documents. What comes out is what
`data.deduplicate.exact.repeats` gives for all keys at once.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from common.files import atomic_write
from data.deduplicate.exact import KEY, repeated
from data.deduplicate.report import write_lines
from data.deduplicate.tables import read_slice, read_table_counts, write_table_of
from data.executors import Executor
from data.shards import read_columns, read_numbers

GROUP_PARTS = 128
"""Parts whose keys one task gathers: of parts of 8 MB a gigabyte of input."""
SLICES = 1024
"""Into how many slices of equal size the hashes are cut; a partition is some of them in a row."""
PARTITION = 1 << 22
"""About as many keys are compared by one task: 4.2 million, some 0.4 GB at work."""
PLACED = np.dtype([("high", "<u8"), ("low", "<u8"), ("row", "<u4")])
"""A key and its document's row in the group."""
TWINS = np.dtype([("dropped", "<i8"), ("kept", "<i8")])
"""A document that an earlier one equals, and the first of those, by place in the corpus."""
_SHIFT = np.uint64(64 - SLICES.bit_length() + 1)


@dataclass(frozen=True)
class Group:
    """Some parts in a row.

    Args:
        number: place among the groups.
        parts: part files in input order.
    """

    number: int
    parts: tuple[Path, ...]

    @property
    def name(self) -> str:
        """Return what messages call it."""
        return f"keys of {self.parts[0].name} and {len(self.parts) - 1} parts after it"


@dataclass(frozen=True)
class Partition:
    """A range of slices of the hashes."""

    number: int
    first: int
    last: int

    @property
    def name(self) -> str:
        """Return what messages call it."""
        return f"partition {self.number} of the keys"


@dataclass(frozen=True)
class GatherKeys:
    """The function of a group: writes its keys by slice, and returns the documents of each part."""

    folder: Path

    def __call__(self, group: Group) -> np.ndarray:
        """Return the number of documents of each part, int64 [parts]; the file is written unless it is there."""
        path = _keys(self.folder, group.number)
        if not path.exists():
            loaded = [_part_keys(part) for part in group.parts]
            keys = np.empty(sum(map(len, loaded)), PLACED)
            for half in ("high", "low"):
                keys[half] = np.concatenate([one[half] for one in loaded])
            keys["row"] = np.arange(len(keys))
            slice_of = (keys["high"] >> _SHIFT).astype(np.uint16)
            borders = np.concatenate(([0], np.cumsum(np.bincount(slice_of, minlength=SLICES))))
            counts = np.concatenate((borders, [len(one) for one in loaded]))
            write_table_of(path, counts, keys[np.argsort(slice_of, kind="stable")])
        rows: np.ndarray = read_table_counts(path)[SLICES + 1 :]
        return rows


@dataclass(frozen=True)
class FindTwins:
    """The function of a partition: writes which of its keys repeat, in order of the documents.

    Args:
        folder: of the groups' keys.
        firsts: place of each group's first document, and of the end, int64 [groups + 1].
    """

    folder: Path
    firsts: np.ndarray

    def __call__(self, partition: Partition) -> int:
        """Return how many documents go; the files are written unless they are there."""
        path = _twins(self.folder, partition.number)
        if not path.exists():
            found, places = [np.empty(0, KEY)], [np.empty(0, np.int64)]
            for group, first in enumerate(self.firsts[:-1]):
                borders = read_table_counts(_keys(self.folder, group))
                span = borders[partition.first], borders[partition.last]
                keys = read_slice(_keys(self.folder, group), PLACED, *span)
                found.append(np.empty(len(keys), KEY))
                for half in ("high", "low"):
                    found[-1][half] = keys[half]
                places.append(keys["row"].astype(np.int64) + first)
            # within a slice of a group rows ascend, and groups do: equal keys come in input order
            dropped, kept = repeated(np.concatenate(found), np.concatenate(places))
            twins = np.empty(len(dropped), TWINS)
            order = np.argsort(dropped)
            twins["dropped"], twins["kept"] = dropped[order], kept[order]
            wanted = np.unique(twins["kept"])
            write_table_of(_wanted(self.folder, partition.number), np.searchsorted(wanted, self.firsts), wanted)
            write_table_of(path, np.searchsorted(twins["dropped"], self.firsts), twins)
        return int(read_table_counts(path)[-1])


@dataclass(frozen=True)
class WriteNames:
    """The function of a group that writes the ids of its documents that others are copies of."""

    folder: Path
    firsts: np.ndarray
    partitions: int

    def __call__(self, group: Group) -> None:
        """Write places and ids, places ascending, unless they are there."""
        path = _names(self.folder, group.number)
        if path.exists():
            return
        wanted = np.sort(_of_group(self.folder, _wanted, np.dtype("<i8"), self.partitions, group.number))
        ids = _ids(group, wanted - self.firsts[group.number])
        table = pa.table({"place": pa.array(wanted), "id": ids})
        with atomic_write(path, "wb") as stream, pa.ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table)


@dataclass(frozen=True)
class WriteReport:
    """The function of a group that writes a line for each of its documents that go."""

    folder: Path
    firsts: np.ndarray
    partitions: int

    def __call__(self, group: Group) -> None:
        """Write the lines in order of the documents, unless they are there."""
        path = _lines(self.folder, group.number)
        if path.exists():
            return
        twins = _of_group(self.folder, _twins, TWINS, self.partitions, group.number)
        twins = twins[np.argsort(twins["dropped"])]
        kept = np.empty(len(twins), object)
        owner = np.searchsorted(self.firsts, twins["kept"], side="right") - 1
        for other in np.unique(owner):
            here = owner == other
            with pa.memory_map(str(_names(self.folder, int(other)))) as source:
                names = pa.ipc.open_file(source).read_all()
                at = np.searchsorted(names.column("place").to_numpy(), twins["kept"][here])
                kept[here] = names.column("id").take(pa.array(at)).to_pylist()
        dropped = _ids(group, twins["dropped"] - self.firsts[group.number]).to_pylist()
        with atomic_write(path, "wb") as stream:
            write_lines(stream, ((one, other, "documents", 1.0) for one, other in zip(dropped, kept, strict=True)))


class ExactDuplicates:
    """The exact duplicates among the documents of parts, found task by task.

    Args:
        parts: part files in input order.
        work: folder for what is half done; it is taken up again when it is of the same parts.
        execute: runs the tasks.
        progress: called after each task.
    """

    def __init__(
        self, parts: list[Path], work: Path, execute: Executor, progress: Callable[[object], None] = lambda _: None
    ) -> None:
        self._execute, self._progress = execute, progress
        self.folder = _folder(work, parts)
        self._groups = [Group(number, tuple(parts[at : at + GROUP_PARTS])) for number, at in _starts(parts)]
        rows = self._run(GatherKeys(self.folder), self._groups)
        self.rows = np.concatenate([np.empty(0, np.int64), *rows])
        """Documents of each part."""
        self._firsts = np.concatenate(([0], np.cumsum([one.sum() for one in rows]))).astype(np.int64)
        total = int(self._firsts[-1])
        count = partitions_of(total)
        borders = [number * SLICES // count for number in range(count + 1)]
        self._partitions = [Partition(number, *span) for number, span in enumerate(pairwise(borders))]
        self.count = sum(self._run(FindTwins(self.folder, self._firsts), self._partitions))
        """Documents that go."""

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield the duplicates of each partition as `TWINS`, `dropped` ascending in each."""
        for partition in self._partitions:
            path = _twins(self.folder, partition.number)
            yield read_slice(path, TWINS, 0, int(read_table_counts(path)[-1]))

    def write_report(self, path: Path) -> None:
        """Write a line {"id", "kept", "rule", "similarity"} a document that goes, in input order."""
        for function in (WriteNames, WriteReport):
            self._run(function(self.folder, self._firsts, len(self._partitions)), self._groups)
        with atomic_write(path, "wb") as stream:
            for group in self._groups:
                with _lines(self.folder, group.number).open("rb") as lines:
                    shutil.copyfileobj(lines, stream, 1 << 20)

    def _run(self, function: Callable, tasks: list) -> list:  # type: ignore[type-arg]
        return self._execute(function, tasks, self._progress)


def partitions_of(documents: float) -> int:
    """Return into how many partitions the keys of so many documents are shared out."""
    return int(min(max(-(-documents // PARTITION), 1), SLICES))


def _starts(parts: list[Path]) -> Iterator[tuple[int, int]]:
    return enumerate(range(0, len(parts), GROUP_PARTS))


def _folder(work: Path, parts: list[Path]) -> Path:
    """Return the folder of these parts, made, and remove those of others."""
    digest = xxhash.xxh3_128(f"{GROUP_PARTS} {SLICES} {PARTITION}\n".encode())
    for part in parts:
        facts = part.stat()
        digest.update(f"{part.name} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    folder = work / f"exact-{digest.hexdigest()}"
    for other in work.glob("exact-*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _part_keys(part: Path) -> np.ndarray:
    high, low = (read_numbers(part, half) for half in ("high", "low"))
    keys = np.empty(len(high), KEY)
    keys["high"], keys["low"] = high, low
    return keys


def _of_group(
    folder: Path, path: Callable[[Path, int], Path], kind: np.dtype, partitions: int, group: int
) -> np.ndarray:
    """Return what the files of all partitions hold for a group."""
    found = [np.empty(0, kind)]
    for number in range(partitions):
        borders = read_table_counts(path(folder, number))
        found.append(read_slice(path(folder, number), kind, borders[group], borders[group + 1]))
    return np.concatenate(found)


def _ids(group: Group, rows: np.ndarray) -> pa.Array:
    """Return the ids of documents of a group, by their rows in it, ascending; parts without one are not read."""
    found, first = [pa.array([], pa.string())], 0
    for part in group.parts:
        count = pq.read_metadata(part).num_rows
        here = rows[np.searchsorted(rows, first) : np.searchsorted(rows, first + count)] - first
        if len(here):
            found.append(read_columns(part, ["id"]).column("id").combine_chunks().take(pa.array(here)))
        first += count
    return pa.concat_arrays(found)


def _keys(folder: Path, group: int) -> Path:
    return folder / f"keys-{group:06d}"


def _twins(folder: Path, partition: int) -> Path:
    return folder / f"twins-{partition:06d}"


def _wanted(folder: Path, partition: int) -> Path:
    return folder / f"wanted-{partition:06d}"


def _names(folder: Path, group: int) -> Path:
    return folder / f"names-{group:06d}"


def _lines(folder: Path, group: int) -> Path:
    return folder / f"lines-{group:06d}"
