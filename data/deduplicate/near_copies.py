"""Near copies in a corpus of any size: band keys shared out by hash, one task a partition, on any executor.

    parts ─► groups: signatures, and the band keys of the documents that stay, by partition    (a task a group)
          ─► partitions: a range of the keys of one band; which documents are like each other  (a task a partition)
          ─► clusters: what is joined by those pairs                                           (one process)
          ─► copies: some whole clusters; which documents go                                   (a task some clusters)

What the steps decide is in `data.deduplicate.cluster`. No task holds more than about `PARTITION` keys, or one bucket or
cluster where that is larger; the one process holds a byte a document, and some 70 for each that is in a pair.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np

from common.arrays import map_array
from common.files import atomic_write
from common.once import once_file
from data.deduplicate.cluster import CLUSTERED, COPY, Compare, clusters, copies, least_equal, like_pairs
from data.deduplicate.groups import Group, Range, firsts_of, groups_of, work_folder
from data.deduplicate.near import PERMUTATIONS, band_keys, choose_bands
from data.deduplicate.sides import SIGNATURES, load_side
from data.deduplicate.tables import Copies, FileOfTask, numbered, read_slice, write_copies, write_table_of
from data.executors.protocol import Executor

PARTITION = 1 << 22
"""About as many band keys are compared by one task: 4.2 million, some 0.4 GB at work."""
GATHERED = 1 << 22
"""About as many band keys of a group are in memory at once: some 0.3 GB at work."""
CLUSTERS = 1 << 20
"""About as many documents in clusters are looked at by one task."""
BANDED = np.dtype([("key", "<u8"), ("row", "<u4")])
"""The key of a band, and its document's row in the group."""
_HALF = np.uint64(32)


def find_near_copies(
    parts: list[Path],
    rows: np.ndarray,
    threshold: float,
    twins: Copies | None,
    work: Path,
    execute: Executor,
    progress: Callable[[object], None] | None = None,
) -> Copies:
    """Return which documents are near copies of an earlier one that stays.

    Args:
        threshold: least similarity of copies, 0 to 1.
        twins: documents that are gone already; None where none are.
    """
    folder = work_folder(work, "near", parts, threshold, bool(twins), PARTITION, CLUSTERS)
    firsts = firsts_of(rows)
    ranges = ranges_of(int(rows.sum()))
    least = least_equal(threshold)
    gather = partial(gather_bands, folder, threshold, ranges, twins, firsts)
    execute(FileOfTask("borders", folder, gather), groups_of(parts), progress)
    partitions = [Range(number, "band keys") for number in range(choose_bands(threshold)[0] * ranges)]
    execute(FileOfTask("pairs", folder, partial(find_like, folder, firsts, least)), partitions, progress)
    clustered = once_file(folder / "clusters", partial(write_clusters, folder, len(partitions), int(firsts[-1])))
    cuts = [Range(number, "clusters") for number in range(len(map_array(clustered)) - 1)]
    execute(FileOfTask("found", folder, partial(find_copies, folder, firsts, least)), cuts, progress)
    once_file(numbered("copies", folder, 0), partial(join_copies, folder, len(cuts), firsts))
    return Copies(folder, 1)


def gather_bands(
    folder: Path,
    threshold: float,
    ranges: int,
    twins: Copies | None,
    firsts: np.ndarray,
    group: Group,
    stream: IO[bytes],
) -> None:
    """Write a group's signatures, its band keys (`ranges` partitions a band) and, last, where each partition begins."""
    loaded = [load_side(part, SIGNATURES) for part in group.parts]
    with atomic_write(numbered("signatures", folder, group.number), "wb") as file:
        for signatures in loaded:
            file.write(np.ascontiguousarray(signatures).view(np.uint8).data)
    stays = np.ones(sum(map(len, loaded)), bool)
    if twins:
        stays[twins.of_group(group.number)["dropped"] - firsts[group.number]] = False
    rows = np.flatnonzero(stays).astype(np.uint32)
    bands = choose_bands(threshold)[0]
    at_once = max(1, GATHERED // max(1, len(stays)))
    borders = [np.zeros(1, np.int64)]
    with atomic_write(numbered("bands", folder, group.number), "wb") as file:
        for first in range(0, bands, at_once):
            chosen = range(first, min(first + at_once, bands))
            keys = np.concatenate([band_keys(part, threshold, chosen) for part in loaded], axis=1)[:, rows]
            partition = (keys >> _HALF) * np.uint64(ranges) >> _HALF
            partition += (np.arange(len(keys), dtype=np.uint64) * np.uint64(ranges))[:, None]
            order = np.argsort(partition, axis=None, kind="stable")
            banded = np.empty(keys.size, BANDED)
            banded["key"] = keys.ravel()[order]
            banded["row"] = rows[order % max(len(rows), 1)]
            file.write(banded.view(np.uint8).data)
            sizes = np.bincount(partition.ravel().astype(np.int64), minlength=len(keys) * ranges)
            borders.append(borders[-1][-1] + np.cumsum(sizes))
    np.save(stream, np.concatenate(borders))


def find_like(folder: Path, firsts: np.ndarray, least: int, partition: Range, stream: IO[bytes]) -> None:
    """Write the pairs of like documents (`least` equal numbers) that share a key of a partition."""
    keys, places = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for group, first in enumerate(firsts[:-1]):
        begin, end = map_array(numbered("borders", folder, group))[partition.number :][:2].tolist()
        offset = begin * BANDED.itemsize
        banded = np.fromfile(numbered("bands", folder, group), BANDED, end - begin, offset=offset)
        keys.append(banded["key"])
        places.append(banded["row"].astype(np.int64) + first)
    # within a partition of a group rows ascend, and groups do: so do the places of a key
    np.save(stream, like_pairs(np.concatenate(keys), np.concatenate(places), comparer(folder, firsts), least))


def write_clusters(folder: Path, partitions: int, documents: int, stream: IO[bytes]) -> None:
    """Write the clusters that so many files of pairs make of so many documents, cut into ranges."""
    pairs = [numbered("pairs", folder, number) for number in range(partitions)]
    clustered = clusters(lambda: map(map_array, pairs), documents)
    starts = np.flatnonzero(np.concatenate(([True], clustered["root"][1:] != clustered["root"][:-1]))[: len(clustered)])
    at = np.searchsorted(starts, np.arange(0, len(clustered), CLUSTERS))
    write_table_of(stream, np.unique(np.append(starts[at[at < len(starts)]], len(clustered))), clustered)


def find_copies(folder: Path, firsts: np.ndarray, least: int, chosen: Range, stream: IO[bytes]) -> None:
    """Write which documents of a range of clusters go."""
    span = map_array(folder / "clusters")[chosen.number :][:2].tolist()
    clustered = read_slice(folder / "clusters", CLUSTERED, *span)
    np.save(stream, copies(clustered, comparer(folder, firsts), least))


def join_copies(folder: Path, files: int, firsts: np.ndarray, stream: IO[bytes]) -> None:
    """Write the copies of so many files of `find_copies` as one."""
    pieces = [map_array(numbered("found", folder, number)) for number in range(files)]
    write_copies(stream, folder, 0, np.concatenate([np.empty(0, COPY), *pieces]), firsts)


def comparer(folder: Path, firsts: np.ndarray) -> Compare:
    """Return a function that counts the equal numbers in the signatures of two columns of documents, by places."""

    def compare(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        places, numbers = np.unique(np.concatenate((left, right)), return_inverse=True)
        rows = np.empty((len(places), PERMUTATIONS), np.uint32)
        cuts = np.searchsorted(places, firsts)
        for group in np.flatnonzero(np.diff(cuts)).tolist():
            here = slice(cuts[group], cuts[group + 1])
            # mapped anew each time: what was read through a map that stays counts as memory of this process
            signed = np.memmap(numbered("signatures", folder, group), np.uint32, "r").reshape(-1, PERMUTATIONS)
            rows[here] = signed[places[here] - firsts[group]]
        equal: np.ndarray = (rows[numbers[: len(left)]] == rows[numbers[len(left) :]]).sum(axis=1)
        return equal

    return compare


def ranges_of(documents: float) -> int:
    """Return into how many partitions the keys of each band of so many documents are shared out."""
    return int(max(-(-documents // PARTITION), 1))
