"""Processes that import no module of the current folder: `python -c`, and Ray's workers, would."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from common.process import SAFE_PATH


@contextmanager
def safe_imports(environment: Mapping[str, str]) -> Iterator[None]:
    """Start Python processes in the block, with these variables: none imports what lies in the current folder."""
    with (
        variables({SAFE_PATH: "1", **environment}),
        in_package_folder() if sys.version_info < (3, 11) else nullcontext(),
    ):
        yield


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables of the environment in the block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


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
