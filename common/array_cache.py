"""A cache, for this user, of arrays that take long to make, each set under the hash of all that it depends on.

A file: 16 bytes of hash of the key and the rest; 8 of the length of what follows, the arrays' names, types and shapes;
the arrays.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from math import prod

import numpy as np
import xxhash

from common.errors import DiskFullError, UserError
from common.file_facts import cache_folder
from common.files import atomic_write, open_file
from common.lock import LOCK, locked
from common.progress import say

MOST = 2
"""Sets that stay, those used last: KLUE's index takes 260 MB of a home that may be small."""
DIGEST, HEAD = 16, 24
"""Bytes to the end of the hash, and of the length."""
ALIGNMENT = 8
"""Bytes to a multiple of which arrays are laid: those of the longest type."""

Arrays = Mapping[str, np.ndarray]


def load_arrays(key: str) -> Arrays | None:
    """Return the arrays of a key; None where the cache does not hold them, or what it holds is damaged."""
    path = cache_folder() / "arrays" / key
    try:
        with open_file(path) as stream:
            if os.fstat(stream.fileno()).st_uid != os.getuid():  # of a cache that users share
                return None
            arrays = _read(key, np.fromfile(stream, np.uint8))
    except (OSError, UserError):  # no such file, or a pipe
        return None
    except (ValueError, TypeError, RecursionError, MemoryError):
        say(f"{path} is damaged and made again", style="yellow")
        return None
    with suppress(OSError):  # a folder that cannot be written to
        os.utime(path)
    return arrays


def _read(key: str, stored: np.ndarray) -> Arrays:
    digest = xxhash.xxh3_128(key.encode())
    digest.update(stored[DIGEST:].data)
    if digest.digest() != stored[:DIGEST].tobytes():
        raise ValueError("another hash")
    at = HEAD + int.from_bytes(stored[DIGEST:HEAD].tobytes(), "little")
    arrays = {}
    for name, kind, shape in json.loads(stored[HEAD:at].tobytes()):
        size = prod(shape) * np.dtype(kind).itemsize
        arrays[name] = stored[at : at + size].view(kind).reshape(shape)
        at += size + -size % ALIGNMENT
    return arrays


def store_arrays(key: str, arrays: Arrays) -> None:
    """Put arrays into the cache, for load_arrays; one that cannot be written, or is being written to, is none."""
    facts = json.dumps([(name, array.dtype.str, array.shape) for name, array in arrays.items()]).encode()
    facts += b" " * (-len(facts) % ALIGNMENT)
    parts: list[bytes | memoryview] = [len(facts).to_bytes(HEAD - DIGEST, "little"), facts]
    for array in arrays.values():
        parts += [np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, bytes(-array.nbytes % ALIGNMENT)]
    digest = xxhash.xxh3_128(key.encode())
    for part in parts:
        digest.update(part)
    folder = cache_folder() / "arrays"
    with suppress(OSError, DiskFullError, UserError):  # UserError: another command writes there
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(folder):
            with atomic_write(folder / key, "wb") as stream:
                os.fchmod(stream.fileno(), 0o600)
                stream.writelines([digest.digest(), *parts])
            # what a killed command left goes as well
            files = [path for path in folder.iterdir() if path.is_file() and path.name != LOCK]
            for old in sorted(files, key=lambda file: file.stat().st_mtime_ns)[:-MOST]:
                old.unlink(missing_ok=True)
