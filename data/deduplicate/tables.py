"""Tables that tasks leave, in files of one form: where what begins, then the rows; `map_array` reads the first."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from common.arrays import map_array
from common.files import atomic_write


def numbered(name: str, folder: Path, number: int) -> Path:
    """Return the file of that name and number in a folder."""
    return folder / f"{name}-{number:06d}"


def write_table_of(path: Path, counts: np.ndarray, rows: np.ndarray) -> None:
    """Write numbers (int64) that say where in an array what begins, and the array, into a file."""
    with atomic_write(path, "wb") as stream:
        np.save(stream, counts.astype("<i8"))
        stream.write(np.ascontiguousarray(rows).view(np.uint8).data)


def read_slice(path: Path, kind: np.dtype, first: int, last: int) -> np.ndarray:
    """Return rows first … last - 1 of the array in a file that `write_table_of` wrote with rows of that kind."""
    counts = map_array(path)
    return np.fromfile(path, kind, last - first, offset=counts.offset + counts.nbytes + first * kind.itemsize)
