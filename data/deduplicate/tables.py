"""Files that tasks leave: arrays; and tables, where what begins, then the rows. `map_array` reads the first array."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from common.arrays import map_array
from common.once import once_file


def numbered(name: str, folder: Path, number: int) -> Path:
    """Return the file of that name and number in a folder."""
    return folder / f"{name}-{number:06d}"


def once_array(path: Path, make: Callable[[], np.ndarray]) -> None:
    """Write what `make` returns as a NumPy file, unless it is there."""
    once_file(path, lambda stream: np.save(stream, make()))


def once_table(path: Path, make: Callable[[], tuple[np.ndarray, np.ndarray]]) -> None:
    """Write numbers (int64) that say where in an array what begins, and the array, unless the file is there."""

    def write(stream: IO[bytes]) -> None:
        counts, rows = make()
        np.save(stream, counts.astype("<i8"))
        stream.write(bytes_of(rows))

    once_file(path, write)


def bytes_of(rows: np.ndarray) -> memoryview:
    """Return the bytes of an array, row after row."""
    return np.ascontiguousarray(rows).view(np.uint8).data


def read_slice(path: Path, kind: np.dtype, first: int, last: int) -> np.ndarray:
    """Return rows first … last - 1 of the array in a file that `once_table` wrote with rows of that kind."""
    counts = map_array(path)
    return np.fromfile(path, kind, last - first, offset=counts.offset + counts.nbytes + first * kind.itemsize)
