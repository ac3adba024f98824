"""Processes that import no module of the current folder: `python -c`, and Ray's workers, would."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from common.process import SAFE_PATH


@contextmanager
def safe_imports() -> Iterator[None]:
    """Start Python processes in the block: none of them imports what lies in the current folder."""
    with variable(SAFE_PATH, "1"), in_package_folder() if sys.version_info < (3, 11) else nullcontext():
        yield


@contextmanager
def variable(name: str, value: str) -> Iterator[None]:
    """Set a variable of the environment in the block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextmanager
def in_package_folder() -> Iterator[None]:
    """Make the folder that this package lies in the current one; nothing changes in a thread beside the main one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(Path(__file__).parents[__name__.count(".")])
        yield
    finally:
        os.fchdir(here)
        os.close(here)
