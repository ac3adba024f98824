"""Documents that go as copies of earlier ones: files that tasks leave, read group by group by any process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from common.arrays import map_array
from common.files import atomic_write
from data.deduplicate.cluster import COPY
from data.deduplicate.tables import numbered, read_slice, write_table_of


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
