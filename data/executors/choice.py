"""Which executor does the work: a choice of the moment that never changes what comes out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from common.process import available_cores
from data.executors.local import LocalPool
from data.executors.protocol import Executor
from data.executors.threads import ThreadPool

ExecutorName = Literal["local", "ray", "slurm-array"]


@contextmanager
def open_executor(
    name: ExecutorName,
    workers: int | None,
    address: str,
    shared: Path,
    preload: str | None = None,
    threads: bool = False,
) -> Iterator[Executor]:
    """Give the executor of that name for a `with` block.

    Args:
        name: local; ray; or slurm-array, whose elements are local pools.
        workers: tasks at work at once; None takes all cores there are.
        address: of the Ray cluster.
        shared: existing folder that all workers write to.
        preload: name of the module that local workers import beforehand, while this process continues.
        threads: local workers are threads; for functions that hardly hold the interpreter's lock.

    Raises:
        UserError: Ray is not installed, or there is no cluster at the address.
    """
    if name != "ray" and threads:
        yield ThreadPool(workers or available_cores())
        return
    if name != "ray":
        with LocalPool(workers or available_cores(), preload) as pool:
            yield pool
        return
    from data.executors.ray import RayExecutor

    with RayExecutor(address, workers, shared) as executor:
        yield executor
