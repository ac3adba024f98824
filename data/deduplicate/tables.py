"""Files that tasks leave, each once, and the documents in them that go as copies of earlier ones.

Most are tables: where what begins, then the rows. `map_array` reads the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from common.arrays import map_array
from common.files import atomic_write
from common.once import once_file
from data.deduplicate.cluster import COPY


def numbered(name: str, folder: Path, number: int) -> Path:
    """Return the file of that name and number in a folder."""
    return folder / f"{name}-{number:06d}"


@dataclass(frozen=True)
class FileOfTask:
    """A function of tasks: it writes the file of a task's number, unless that is there."""

    name: str
    folder: Path
    write: Callable[[Any, IO[bytes]], None]

    def __call__(self, task: Any) -> None:
        once_file(numbered(self.name, self.folder, task.number), partial(self.write, task))


def write_table_of(stream: IO[bytes], counts: np.ndarray, rows: np.ndarray) -> None:
    """Write numbers (int64) that say where in an array what begins, and the array."""
    np.save(stream, counts.astype("<i8"))
    stream.write(np.ascontiguousarray(rows).view(np.uint8).data)


def read_slice(path: Path, kind: np.dtype, first: int, last: int) -> np.ndarray:
    """Return rows first … last - 1 of the array in a file that `write_table_of` wrote with rows of that kind."""
    counts = map_array(path)
    return np.fromfile(path, kind, last - first, offset=counts.offset + counts.nbytes + first * kind.itemsize)


@dataclass(frozen=True)
class Copies:
    """Documents that go as copies of earlier ones, in the numbered files of a folder."""

    folder: Path
    files: int

    def of_group(self, group: int) -> np.ndarray:
        """Return the documents of a group that go, as `COPY`, `dropped` ascending."""
        copies = self._gather(group, "copies", COPY)
        return copies[np.argsort(copies["dropped"])]

    def originals_of_group(self, group: int) -> np.ndarray:
        """Return the places of the documents of a group that others are copies of, ascending."""
        return np.sort(self._gather(group, "wanted", np.dtype("<i8")))

    def _gather(self, group: int, name: str, kind: np.dtype) -> np.ndarray:
        slices = [np.empty(0, kind)]
        for number in range(self.files):
            path = numbered(name, self.folder, number)
            slices.append(read_slice(path, kind, *map_array(path)[group : group + 2].tolist()))
        return np.concatenate(slices)

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield the copies of each file as `COPY`, `dropped` ascending in each."""
        for number in range(self.files):
            path = numbered("copies", self.folder, number)
            yield read_slice(path, COPY, 0, int(map_array(path)[-1]))


def write_copies(stream: IO[bytes], folder: Path, number: int, copies: np.ndarray, firsts: np.ndarray) -> None:
    """Write a file of copies (`COPY`); and before it is whole, one of the places of what they are copies of."""
    copies = copies[np.argsort(copies["dropped"])]
    originals = np.unique(copies["kept"])
    with atomic_write(numbered("wanted", folder, number), "wb") as file:
        write_table_of(file, np.searchsorted(originals, firsts), originals)
    write_table_of(stream, np.searchsorted(copies["dropped"], firsts), copies)
