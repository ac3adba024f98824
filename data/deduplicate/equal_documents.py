"""Exact duplicates of a corpus of any size: keys shared out by hash, one task a partition, on any executor.

    parts ─► groups: the keys of some parts, sorted by slice of the hash     (a task a group)
          ─► partitions: slices of all groups; which keys repeat            (a task a partition)

No task holds more than `PARTITION` keys or a group's documents. What comes out is what
`data.deduplicate.exact.repeats` gives for all keys at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from data.deduplicate.exact import KEY, repeated
from data.deduplicate.groups import Group, firsts_of, groups_of, work_folder
from data.deduplicate.tables import numbered, read_slice, read_table_counts, write_table_of
from data.executors import Executor
from data.shards import read_numbers

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
        path = numbered("keys", self.folder, group.number)
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
        return np.array(read_table_counts(path)[SLICES + 1 :])


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
        path = numbered("twins", self.folder, partition.number)
        if not path.exists():
            found, places = [np.empty(0, KEY)], [np.empty(0, np.int64)]
            for group, first in enumerate(self.firsts[:-1]):
                borders = read_table_counts(numbered("keys", self.folder, group))
                span = borders[partition.first], borders[partition.last]
                keys = read_slice(numbered("keys", self.folder, group), PLACED, *span)
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
            copied = numbered("wanted", self.folder, partition.number)
            write_table_of(copied, np.searchsorted(wanted, self.firsts), wanted)
            write_table_of(path, np.searchsorted(twins["dropped"], self.firsts), twins)
        return int(read_table_counts(path)[-1])


@dataclass(frozen=True)
class Twins:
    """The equal documents found, group by group; any process may read them.

    Args:
        folder: of the partitions' files.
        partitions: how many there are.
    """

    folder: Path
    partitions: int

    def of_group(self, group: int) -> np.ndarray:
        """Return those of a group that go, as `TWINS`, `dropped` ascending."""
        twins = self._gather(group, "twins", TWINS)
        return twins[np.argsort(twins["dropped"])]

    def wanted_of_group(self, group: int) -> np.ndarray:
        """Return the places of those of a group that others are copies of, ascending."""
        return np.sort(self._gather(group, "wanted", np.dtype("<i8")))

    def _gather(self, group: int, name: str, kind: np.dtype) -> np.ndarray:
        found = [np.empty(0, kind)]
        for number in range(self.partitions):
            file = numbered(name, self.folder, number)
            borders = read_table_counts(file)
            found.append(read_slice(file, kind, borders[group], borders[group + 1]))
        return np.concatenate(found)


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
        self.folder = work_folder(work, "exact", parts, SLICES, PARTITION)
        rows = execute(GatherKeys(self.folder), groups_of(parts), progress)
        self.rows = np.concatenate([np.empty(0, np.int64), *rows])
        """Documents of each part."""
        count = partitions_of(int(self.rows.sum()))
        borders = [number * SLICES // count for number in range(count + 1)]
        partitions = [Partition(number, *span) for number, span in enumerate(pairwise(borders))]
        self.count = sum(execute(FindTwins(self.folder, firsts_of(self.rows)), partitions, progress))
        """Documents that go."""
        self.found = Twins(self.folder, count)
        """Which ones."""

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield the duplicates of each partition as `TWINS`, `dropped` ascending in each."""
        for number in range(self.found.partitions):
            path = numbered("twins", self.folder, number)
            yield read_slice(path, TWINS, 0, int(read_table_counts(path)[-1]))


def partitions_of(documents: float) -> int:
    """Return into how many partitions the keys of so many documents are shared out."""
    return int(min(max(-(-documents // PARTITION), 1), SLICES))


def _part_keys(part: Path) -> np.ndarray:
    high, low = (read_numbers(part, half) for half in ("high", "low"))
    keys = np.empty(len(high), KEY)
    keys["high"], keys["low"] = high, low
    return keys
