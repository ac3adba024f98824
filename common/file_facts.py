"""A cache, for this user, of what reading a whole file showed: its hashes, whether its weights are finite.

A file is the same while its size, times and inode are. Bits that a disk loses later are seen by `hunmin verify` and
before a push, which read every byte.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from common.files import atomic_write, read_bytes

SETTLED = 2_000_000_000
"""Age of a file in nanoseconds from which facts about it are stored: within a tick of the file system's clock, a second
change leaves the times as they are."""


def file_fact(path: Path, name: str, read: Callable[[Path], str]) -> str:
    """Return what `read` returns of a file; from the cache where the file is the same.

    Args:
        path: of a local file.
        name: of the fact: "xxh3", "sha256" …
        read: reads the file.
    """
    key = str(path.resolve())
    begun = time.time_ns()
    state = _state(path)
    known = _stored().get(key, {})
    if known.get("state") == state and name in known:
        return str(known[name])
    value = read(path)
    if _state(path) == state and begun - max(state[1:3]) > SETTLED:
        with suppress(OSError):  # a home that cannot be written to
            facts = {place: known for place, known in _stored().items() if Path(place).exists()}
            same = facts[key] if facts.get(key, {}).get("state") == state else {"state": state}
            with atomic_write(_place(), as_given=True) as stream:
                json.dump({**facts, key: {**same, name: value}}, stream)
    return value


def cache_folder() -> Path:
    """Return this user's folder of what can be made again; one that cannot be where no absolute path is known."""
    places = [Path(os.environ.get("XDG_CACHE_HOME", ""))]
    with suppress(RuntimeError):  # a user without a home
        places.append(Path.home() / ".cache")
    return next(filter(Path.is_absolute, (*places, Path(os.devnull)))) / "hunmin"


def _place() -> Path:
    return cache_folder() / "files.json"


def _stored() -> dict[str, dict[str, object]]:
    with suppress(OSError, ValueError, RecursionError, AttributeError, TypeError):
        return {str(key): dict(facts) for key, facts in json.loads(read_bytes(_place())).items()}
    return {}


def _state(path: Path) -> list[int]:
    facts = path.stat()
    return [facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino, facts.st_dev]
