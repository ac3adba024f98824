"""NumPy files: written whole, by one rename, and mapped from the disk."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np

from common.files import atomic_write

_HEADERS = threading.Lock()
"""NumPy reads the header of a file with `ast.literal_eval`, which Python up to 3.12 cannot do in two threads at once:
"AST constructor recursion depth mismatch" (cpython#106905)."""


def save_array(path: Path, array: np.ndarray) -> None:
    """Write an array into a NumPy file.

    Raises:
        DiskFullError: no space.
    """
    with atomic_write(path, "wb") as stream:
        np.save(stream, array)


def map_array(path: Path) -> np.memmap:
    """Return the array of a NumPy file, mapped from the disk.

    Raises:
        OSError, ValueError, EOFError: no whole NumPy file.
    """
    with _HEADERS:
        array: np.memmap = np.load(path, mmap_mode="r")  # noqa: TID251
    return array
