"""Near copies in a corpus of any size: band keys shared out by hash, one task a partition, on any executor.

    parts ─► groups: signatures, and the band keys of the documents that stay, by partition    (a task a group)
          ─► partitions: a range of the keys of one band; which documents are like each other  (a task a partition)
          ─► clusters: what is joined by those pairs                                           (one process)
          ─► copies: some whole clusters; which documents go                                   (a task some clusters)

What the steps decide is in `data.deduplicate.cluster`. No task holds more than about `PARTITION` keys, or one bucket or
cluster where that is larger; the one process holds a byte a document, and some 70 for each that is in a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from common.files import atomic_write
from data.deduplicate.cluster import CLUSTERED, COPY, LIKE, clusters, copies, least_equal, like_pairs
from data.deduplicate.equal_documents import Twins
from data.deduplicate.groups import Group, firsts_of, groups_of, work_folder
from data.deduplicate.near import PERMUTATIONS, band_keys, choose_bands
from data.deduplicate.sides import SIGNATURES, load_side
from data.deduplicate.tables import map_rows, numbered, read_slice, read_table_counts, write_table_of
from data.executors import Executor

PARTITION = 1 << 22
"""About as many band keys are compared by one task: 4.2 million, some 0.4 GB at work."""
GATHERED = 1 << 22
"""About as many band keys of a group are in memory at once: some 0.3 GB at work."""
CLUSTERS = 1 << 20
"""About as many documents in clusters are looked at by one task."""
BANDED = np.dtype([("key", "<u8"), ("row", "<u4")])
"""The key of a band, and its document's row in the group."""
_HALF = np.uint64(32)


@dataclass(frozen=True)
class Range:
    """A range of what a step works through: keys of one band, or clusters."""

    number: int
    of: str

    @property
    def name(self) -> str:
        """Return what messages call it."""
        return f"range {self.number} of the {self.of}"


@dataclass(frozen=True)
class GatherBands:
    """The function of a group: writes its signatures, and its band keys by partition.

    Args:
        folder: for the files.
        threshold: least similarity of copies.
        ranges: partitions of each band.
        twins: documents that are gone already; None where none are.
        firsts: place of each group's first document, and of the end, int64 [groups + 1].
    """

    folder: Path
    threshold: float
    ranges: int
    twins: Twins | None
    firsts: np.ndarray

    def __call__(self, group: Group) -> None:
        """Write the files unless they are there."""
        path = numbered("borders", self.folder, group.number)
        if path.exists():
            return
        loaded = [load_side(part, SIGNATURES) for part in group.parts]
        with atomic_write(numbered("signatures", self.folder, group.number), "wb") as stream:
            for signatures in loaded:
                stream.write(np.ascontiguousarray(signatures).view(np.uint8).data)
        stays = np.ones(sum(map(len, loaded)), bool)
        if self.twins:
            stays[self.twins.of_group(group.number)["dropped"] - self.firsts[group.number]] = False
        rows = np.flatnonzero(stays).astype(np.uint32)
        bands = choose_bands(self.threshold)[0]
        at_once = max(1, GATHERED // max(1, len(stays)))
        borders = [np.zeros(1, np.int64)]
        with atomic_write(numbered("bands", self.folder, group.number), "wb") as stream:
            for first in range(0, bands, at_once):
                chosen = range(first, min(first + at_once, bands))
                keys = np.concatenate([band_keys(one, self.threshold, chosen) for one in loaded], axis=1)[:, rows]
                partition = (keys >> _HALF) * np.uint64(self.ranges) >> _HALF
                partition += (np.arange(len(keys), dtype=np.uint64) * np.uint64(self.ranges))[:, None]
                order = np.argsort(partition, axis=None, kind="stable")
                banded = np.empty(keys.size, BANDED)
                banded["key"], banded["row"] = keys.ravel()[order], rows[order % max(len(rows), 1)]
                stream.write(banded.view(np.uint8).data)
                sizes = np.bincount(partition.ravel().astype(np.int64), minlength=len(keys) * self.ranges)
                borders.append(borders[-1][-1] + np.cumsum(sizes))
        with atomic_write(path, "wb") as stream:
            np.save(stream, np.concatenate(borders))


@dataclass(frozen=True)
class FindLike:
    """The function of a partition: writes the pairs of like documents that share one of its keys.

    Args:
        folder: of the groups' files.
        threshold: least similarity of copies.
        firsts: place of each group's first document, and of the end, int64 [groups + 1].
    """

    folder: Path
    threshold: float
    firsts: np.ndarray

    def __call__(self, partition: Range) -> None:
        """Write the file unless it is there."""
        path = numbered("pairs", self.folder, partition.number)
        if path.exists():
            return
        keys, places = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        for group, first in enumerate(self.firsts[:-1]):
            borders = np.load(numbered("borders", self.folder, group), mmap_mode="r")
            begin, end = borders[partition.number :][:2].tolist()
            offset = begin * BANDED.itemsize
            banded = np.fromfile(numbered("bands", self.folder, group), BANDED, end - begin, offset=offset)
            keys.append(banded["key"])
            places.append(banded["row"].astype(np.int64) + first)
        # within a partition of a group rows ascend, and groups do: so do the places of a key
        compare = Comparer(self.folder, self.firsts)
        pairs = like_pairs(np.concatenate(keys), np.concatenate(places), compare, least_equal(self.threshold))
        write_table_of(path, np.empty(0, np.int64), pairs)


@dataclass(frozen=True)
class FindCopies:
    """The function of a range of clusters: writes which of their documents go. Arguments as for `FindLike`."""

    folder: Path
    threshold: float
    firsts: np.ndarray

    def __call__(self, chosen: Range) -> None:
        """Write the file unless it is there."""
        path = numbered("copies", self.folder, chosen.number)
        if path.exists():
            return
        borders = read_table_counts(self.folder / "clusters")
        span = borders[chosen.number], borders[chosen.number + 1]
        clustered = read_slice(self.folder / "clusters", CLUSTERED, *span)
        found = copies(clustered, Comparer(self.folder, self.firsts), least_equal(self.threshold))
        write_table_of(path, np.empty(0, np.int64), found)


class Comparer:
    """Counts the equal numbers of two documents' signatures, by the places of documents.

    Args:
        folder: of the groups' signatures.
        firsts: place of each group's first document, and of the end, int64 [groups + 1].
    """

    def __init__(self, folder: Path, firsts: np.ndarray) -> None:
        self._folder, self._firsts = folder, firsts

    def __call__(self, ones: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return how many numbers of the signatures of two columns of documents are equal."""
        wanted, numbers = np.unique(np.concatenate((ones, others)), return_inverse=True)
        rows = np.empty((len(wanted), PERMUTATIONS), np.uint32)
        cuts = np.searchsorted(wanted, self._firsts)
        for group in np.flatnonzero(np.diff(cuts)).tolist():
            here = slice(cuts[group], cuts[group + 1])
            # mapped anew each time: what was read through a map that stays counts as memory of this process
            signed = np.memmap(numbered("signatures", self._folder, group), np.uint32, "r").reshape(-1, PERMUTATIONS)
            rows[here] = signed[wanted[here] - self._firsts[group]]
        equal: np.ndarray = (rows[numbers[: len(ones)]] == rows[numbers[len(ones) :]]).sum(axis=1)
        return equal


@dataclass(frozen=True)
class Copies:
    """The near copies found, group by group; any process may read them.

    Args:
        folder: of the file.
    """

    folder: Path

    def of_group(self, group: int) -> np.ndarray:
        """Return those of a group that go, as `COPY`, `dropped` ascending."""
        borders = read_table_counts(self.folder / "copies")
        return read_slice(self.folder / "copies", COPY, borders[group], borders[group + 1])

    def wanted_of_group(self, group: int) -> np.ndarray:
        """Return the places of those of a group that others are near copies of, ascending."""
        borders = read_table_counts(self.folder / "wanted")
        return read_slice(self.folder / "wanted", np.dtype("<i8"), borders[group], borders[group + 1])


class NearCopies:
    """The near copies among the documents of parts, found task by task.

    Args:
        parts: part files in input order, with the files of signatures.
        rows: documents of each part.
        threshold: least similarity of copies, 0 to 1.
        twins: documents that are gone already; None where none are.
        work: folder for what is half done; it is taken up again when it is of the same parts.
        execute: runs the tasks.
        progress: called after each task.
    """

    def __init__(
        self,
        parts: list[Path],
        rows: np.ndarray,
        threshold: float,
        twins: Twins | None,
        work: Path,
        execute: Executor,
        progress: Callable[[object], None] = lambda _: None,
    ) -> None:
        bands, ranges = choose_bands(threshold)[0], ranges_of(int(rows.sum()))
        self.folder = work_folder(work, "near", parts, threshold, bool(twins), PARTITION, CLUSTERS)
        firsts = firsts_of(rows)
        execute(GatherBands(self.folder, threshold, ranges, twins, firsts), groups_of(parts), progress)
        partitions = [Range(number, "band keys") for number in range(bands * ranges)]
        execute(FindLike(self.folder, threshold, firsts), partitions, progress)
        cut = self._cluster(len(partitions), int(firsts[-1]))
        execute(
            FindCopies(self.folder, threshold, firsts), [Range(number, "clusters") for number in range(cut)], progress
        )
        self._collect(cut, firsts)
        self.found = Copies(self.folder)
        """Which documents go."""
        self.count = int(read_table_counts(self.folder / "copies")[-1])
        """Documents that go."""

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield the near copies of each group as `COPY`, `dropped` ascending."""
        for group in range(len(read_table_counts(self.folder / "copies")) - 1):
            yield self.found.of_group(group)

    def _cluster(self, partitions: int, documents: int) -> int:
        """Write the clusters unless they are there, and return into how many ranges they are cut."""
        path = self.folder / "clusters"
        if not path.exists():
            pairs = [numbered("pairs", self.folder, number) for number in range(partitions)]
            found = clusters(lambda: (map_rows(one, LIKE) for one in pairs), documents)
            starts = np.flatnonzero(np.concatenate(([True], found["root"][1:] != found["root"][:-1]))[: len(found)])
            at = np.searchsorted(starts, np.arange(0, len(found), CLUSTERS))
            borders = np.unique(np.append(starts[at[at < len(starts)]], len(found)))
            write_table_of(path, borders, found)
        return len(read_table_counts(path)) - 1

    def _collect(self, cut: int, firsts: np.ndarray) -> None:
        """Write all copies in order of the documents, and what they are copies of, unless they are there."""
        if (self.folder / "copies").exists():
            return
        parts = (map_rows(numbered("copies", self.folder, number), COPY) for number in range(cut))
        found = np.concatenate([np.empty(0, COPY), *parts])
        found = found[np.argsort(found["dropped"])]
        wanted = np.unique(found["kept"])
        write_table_of(self.folder / "wanted", np.searchsorted(wanted, firsts), wanted)
        write_table_of(self.folder / "copies", np.searchsorted(found["dropped"], firsts), found)


def ranges_of(documents: float) -> int:
    """Return into how many partitions the keys of each band of so many documents are shared out."""
    return int(max(-(-documents // PARTITION), 1))
