"""A lock on a folder, so that two commands do not work in it at once and take each other's files away."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from common.errors import UserError
from common.files import open_file
from common.progress import say

LOCK = ".lock"


def open_lock(folder: Path) -> IO[bytes]:
    """Open the lock file of a folder, which is made where it is not there."""
    with suppress(FileNotFoundError):
        open_file(folder / LOCK).close()  # refuses a pipe
    return (folder / LOCK).open("a+b")  # for reading too: network file systems want that for a shared lock


@contextmanager
def locked(folder: Path, share: bool = False) -> Iterator[None]:
    """Keep other commands out of a folder for a `with` block; the system lets go of it when the process ends, too.

    Args:
        folder: made where it is not there; an empty file `.lock` stays in it.
        share: let others in that share as well (elements of an array, say).

    Raises:
        UserError: another command is at work in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open_lock(folder) as stream:
        try:
            fcntl.flock(stream, (fcntl.LOCK_SH if share else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"another command is at work in {folder}",
                "one command at a time works in a folder",
                "wait for it, or give another folder to write",
            ) from None
        except OSError:
            say(f"the file system of {folder} knows no locks: run one command at a time in it", style="yellow")
        yield


def is_locked(folder: Path) -> bool:
    """Return whether a process holds the lock of a folder."""
    try:
        with open_file(folder / LOCK) as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no lock, or a file system that knows none
        return False
    return False
