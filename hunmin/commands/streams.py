"""Inputs and outputs of the pipe commands: "-" is a standard stream; a file appears whole or not at all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from common.files import atomic_write, decompression_errors, expand, open_bytes


@contextmanager
def open_input(path: str) -> Iterator[IO[bytes]]:
    """Open a path, URL or "-" for reading bytes, decompressed by its name."""
    if path == "-":
        yield sys.stdin.buffer
        return
    with decompression_errors(path), open_bytes(expand(path)[0]) as stream:
        yield stream


@contextmanager
def open_output(path: str) -> Iterator[IO[bytes]]:
    """Open a path or "-" for writing bytes."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic_write(path, "wb") as stream:
        yield stream
