"""A child process, killed before one of the calls by which it makes, renames, writes or removes what has a name."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

CALLS = ("rename", "remove", "mkdir", "rmdir", "link", "symlink", "truncate")
EVENTS = ("open", "shutil.rmtree", *(f"os.{call}" for call in CALLS))
"""Python's audit events of such calls."""


def killed_at(work: Callable[[], object], root: Path, number: int) -> bool:
    """Do work in a child that is killed before its call of a number below a folder; return whether it came so far."""
    child = os.fork()
    if child == 0:
        left = number

        def watch(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal left
            if event not in EVENTS or not str(arguments[0]).startswith(str(root)):
                return
            if event == "open" and not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                return
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)
