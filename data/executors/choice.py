"""The choice of the executor, which never affects the output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from common.process import available_cores
from data.executors.local import LocalPool
from data.executors.protocol import Executor
from data.executors.threads import ThreadPool

ExecutorName = Literal["local", "ray", "slurm-array"]


def open_executor(
    name: ExecutorName,
    workers: int | None,
    address: str,
    shared: Path,
    modules: Sequence[str] = (),
    threads: bool = False,
) -> Executor:
    """Return the executor of that name, for a `with` block.

    Args:
        name: local; ray; or slurm-array, whose elements are local pools.
        workers: tasks at work at once; None takes all cores there are.
        threads: local workers are threads; for functions that hardly hold the interpreter's lock.

    Raises:
        UserError: Ray is not installed, or there is no cluster at the address; as the block begins.
    """
    if name == "ray":
        from data.executors.ray import RayExecutor

        return RayExecutor(address, workers, shared)
    workers = workers or available_cores()
    return ThreadPool(workers) if threads else LocalPool(workers, modules)
