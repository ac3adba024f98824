"""Documents that go as copies of earlier ones: files that tasks leave, read group by group by any process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from common.arrays import map_array
from data.deduplicate.cluster import COPY
from data.deduplicate.tables import numbered, once_table, read_slice


@dataclass(frozen=True)
class Copies:
    """The copies in a folder's files.

    Args:
        folder: of the files.
        files: how many there are.
    """

    folder: Path
    files: int

    def of_group(self, group: int) -> np.ndarray:
        """Return those of a group that go, as `COPY`, `dropped` ascending."""
        copies = self._gather(group, "copies", COPY)
        return copies[np.argsort(copies["dropped"])]

    def wanted_of_group(self, group: int) -> np.ndarray:
        """Return the places of those of a group that others are copies of, ascending."""
        return np.sort(self._gather(group, "wanted", np.dtype("<i8")))

    def _gather(self, group: int, name: str, kind: np.dtype) -> np.ndarray:
        found = [np.empty(0, kind)]
        for number in range(self.files):
            path = numbered(name, self.folder, number)
            found.append(read_slice(path, kind, *map_array(path)[group : group + 2].tolist()))
        return np.concatenate(found)

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield the copies of each file as `COPY`, `dropped` ascending in each."""
        for number in range(self.files):
            path = numbered("copies", self.folder, number)
            yield read_slice(path, COPY, 0, int(map_array(path)[-1]))


def once_copies(folder: Path, number: int, firsts: np.ndarray, find: Callable[[], np.ndarray]) -> None:
    """Write a file of copies, and one of what they are copies of, unless they are there.

    Args:
        folder: for the files.
        number: of the files.
        firsts: place of each group's first document, and of the end, int64 [groups + 1].
        find: returns the copies, as `COPY`.
    """

    def make() -> tuple[np.ndarray, np.ndarray]:
        copies = find()
        copies = copies[np.argsort(copies["dropped"])]
        wanted = np.unique(copies["kept"])
        once_table(numbered("wanted", folder, number), lambda: (np.searchsorted(wanted, firsts), wanted))
        return np.searchsorted(copies["dropped"], firsts), copies

    once_table(numbered("copies", folder, number), make)
