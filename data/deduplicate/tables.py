"""A file of one array with a few numbers before it that say where in it what begins: read in pieces, written whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from common.files import atomic_write


def numbered(name: str, folder: Path, number: int) -> Path:
    """Return the file of that name and number in a folder."""
    return folder / f"{name}-{number:06d}"


def write_table_of(path: Path, counts: np.ndarray, rows: np.ndarray) -> None:
    """Write numbers (int64) and an array into a file, by one rename.

    Raises:
        DiskFullError: no space.
    """
    with atomic_write(path, "wb") as stream:
        np.save(stream, counts.astype("<i8"))
        stream.write(np.ascontiguousarray(rows).view(np.uint8).data)


def read_table_counts(path: Path) -> np.ndarray:
    """Return the numbers at the beginning of a file that `write_table_of` wrote, mapped from the disk."""
    counts: np.ndarray = np.load(path, mmap_mode="r")
    return counts


def map_rows(path: Path, kind: np.dtype) -> np.ndarray:
    """Return the array in a file that `write_table_of` wrote with rows of that kind, mapped from the disk."""
    counts = np.load(path, mmap_mode="r")
    begins = counts.offset + counts.nbytes
    rows = (path.stat().st_size - begins) // kind.itemsize
    return np.memmap(path, kind, "r", begins, (rows,)) if rows else np.empty(0, kind)


def read_slice(path: Path, kind: np.dtype, first: int, last: int) -> np.ndarray:
    """Return rows first … last - 1 of the array in a file that `write_table_of` wrote with rows of that kind."""
    return np.array(map_rows(path, kind)[first:last])
