"""Sends a function to the workers of this machine; its arrays are in memory once, shared by all."""

from __future__ import annotations

import mmap
import os
import pickle
from itertools import accumulate
from multiprocessing import reduction
from multiprocessing.connection import Connection
from tempfile import TemporaryFile
from typing import Any

from common.files import disk_errors

ALIGNMENT = 64
"""Bytes to a multiple of which arrays are laid: a cache line, and enough for every type."""


class Payload:
    """A pickled object in a nameless file that ends with its readers; arrays lie behind it (pickle protocol 5)."""

    def __init__(self, value: object) -> None:
        arrays: list[pickle.PickleBuffer] = []
        head = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
        parts = [memoryview(head), *(array.raw() for array in arrays)]
        self._sizes = [part.nbytes for part in parts]
        self._file = os.fdopen(os.memfd_create("payload"), "wb") if hasattr(os, "memfd_create") else TemporaryFile()
        with disk_errors("what the workers share"):
            for part, start in zip(parts, _starts(self._sizes), strict=False):
                self._file.seek(start)
                self._file.write(part)
            self._file.truncate(_starts(self._sizes)[-1])
            self._file.flush()

    def send(self, connection: Connection) -> None:
        """Hand the file to the process at the other end, which calls `receive`."""
        connection.send(self._sizes)
        reduction.send_handle(connection, self._file.fileno(), None)  # type: ignore[attr-defined]


def receive(connection: Connection) -> Any:
    """Return the object; what is written to its arrays stays in this process."""
    sizes = connection.recv()
    handle = reduction.recv_handle(connection)  # type: ignore[attr-defined]
    try:
        view = memoryview(mmap.mmap(handle, 0, access=mmap.ACCESS_COPY))
    finally:
        os.close(handle)
    head, *arrays = [view[start : start + size] for start, size in zip(_starts(sizes), sizes, strict=False)]
    return pickle.loads(head, buffers=arrays)


def _starts(sizes: list[int]) -> list[int]:
    return list(accumulate((-(-size // ALIGNMENT) * ALIGNMENT for size in sizes), initial=0))
