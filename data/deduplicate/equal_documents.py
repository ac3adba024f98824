"""Exact duplicates of a corpus of any size: keys shared out by hash, one task a partition, on any executor.

    parts ─► groups: the keys of some parts, sorted by slice of the hash     (a task a group)
          ─► partitions: slices of all groups; which keys repeat            (a task a partition)

No task holds more than `PARTITION` keys or a group's documents. What comes out is what
`data.deduplicate.exact.repeated` gives for all keys at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np

from common.arrays import map_array
from data.deduplicate.cluster import COPY
from data.deduplicate.exact import KEY, repeated
from data.deduplicate.groups import Group, Range, firsts_of, groups_of, work_folder
from data.deduplicate.near import PERMUTATIONS
from data.deduplicate.tables import Copies, FileOfTask, numbered, read_slice, write_copies, write_table_of
from data.executors.protocol import Executor
from data.shards import read_numbers

SLICES = 1024
"""Into how many slices of equal size the hashes are cut; a partition is some of them in a row."""
PARTITION = 1 << 22
"""About as many keys are compared by one task: 4.2 million, some 0.4 GB at work."""
PLACED = np.dtype([("high", "<u8"), ("low", "<u8"), ("row", "<u4")])
"""A key and its document's row in the group."""
_SHIFT = np.uint64(64 - SLICES.bit_length() + 1)


def find_equal_documents(
    parts: list[Path], work: Path, execute: Executor, progress: Callable[[object], None] | None = None
) -> tuple[np.ndarray, Copies]:
    """Return how many documents each part has, int64 [parts], and which of them an earlier one equals."""
    folder = work_folder(work, "exact", parts, SLICES, PARTITION)
    groups = groups_of(parts)
    execute(FileOfTask("keys", folder, gather_keys), groups, progress)
    counts = [map_array(numbered("keys", folder, group.number))[SLICES + 1 :] for group in groups]
    rows = np.concatenate([np.empty(0, np.int64), *counts])
    count = partitions_of(int(rows.sum()))
    partitions = [Range(number, "keys") for number in range(count)]
    find = partial(find_twins, folder, firsts_of(rows), count)
    execute(FileOfTask("copies", folder, find), partitions, progress)
    return rows, Copies(folder, count)


def gather_keys(group: Group, stream: IO[bytes]) -> None:
    """Write where each slice of a group's keys begins, the number of documents of each part, and the keys by slice."""
    high, low = ([read_numbers(part, half) for part in group.parts] for half in ("high", "low"))
    keys = np.empty(sum(map(len, high)), PLACED)
    keys["high"] = np.concatenate(high)
    keys["low"] = np.concatenate(low)
    keys["row"] = np.arange(len(keys))
    slice_of = (keys["high"] >> _SHIFT).astype(np.uint16)
    borders = np.concatenate(([0], np.cumsum(np.bincount(slice_of, minlength=SLICES))))
    counts = np.concatenate((borders, [len(part_keys) for part_keys in high]))
    write_table_of(stream, counts, keys[np.argsort(slice_of, kind="stable")])


def find_twins(folder: Path, firsts: np.ndarray, count: int, partition: Range, stream: IO[bytes]) -> None:
    """Write which keys of one of `count` partitions repeat; `folder` holds the groups' keys."""
    slices = [number * SLICES // count for number in (partition.number, partition.number + 1)]
    gathered, places = [np.empty(0, KEY)], [np.empty(0, np.int64)]
    for group, first in enumerate(firsts[:-1]):
        path = numbered("keys", folder, group)
        keys = read_slice(path, PLACED, *map_array(path)[slices].tolist())
        gathered.append(np.empty(len(keys), KEY))
        for half in ("high", "low"):
            gathered[-1][half] = keys[half]
        places.append(keys["row"].astype(np.int64) + first)
    # within a slice of a group rows ascend, and groups do: equal keys come in input order
    dropped, originals = repeated(np.concatenate(gathered), np.concatenate(places))
    twins = np.empty(len(dropped), COPY)
    twins["dropped"] = dropped
    twins["kept"] = originals
    twins["equal"] = PERMUTATIONS
    write_copies(stream, folder, partition.number, twins, firsts)


def partitions_of(documents: float) -> int:
    """Return into how many partitions the keys of so many documents are shared out."""
    return int(min(max(-(-documents // PARTITION), 1), SLICES))
