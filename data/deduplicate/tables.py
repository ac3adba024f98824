"""Files that tasks leave, each once; most are tables: where what begins, then the rows. `map_array` reads the first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from common.arrays import map_array
from common.once import once_file


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
