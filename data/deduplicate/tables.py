"""A file of one array with a few numbers before it that say where in it what begins: read in pieces, written whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from common.files import atomic_write


def write_table_of(path: Path, counts: np.ndarray, rows: np.ndarray) -> None:
    """Write numbers (int64) and an array into a file, by one rename.

    Raises:
        DiskFullError: no space.
    """
    with atomic_write(path, "wb") as stream:
        np.save(stream, counts.astype("<i8"))
        stream.write(np.ascontiguousarray(rows).view(np.uint8).data)


def read_table_counts(path: Path) -> np.ndarray:
    """Return the numbers at the beginning of a file that `write_table_of` wrote."""
    with path.open("rb") as stream:
        counts: np.ndarray = np.load(stream)
    return counts


def read_slice(path: Path, kind: np.dtype, first: int, last: int) -> np.ndarray:
    """Return rows first … last - 1 of the array in a file that `write_table_of` wrote with rows of that kind."""
    with path.open("rb") as stream:
        np.load(stream)
        stream.seek(int(first) * kind.itemsize, 1)
        return np.fromfile(stream, kind, int(last - first))
