"""Which executor does the work: a choice of the moment that never changes what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Protocol

from common.process import available_cores
from data.executors.crew import ALONE, Crew
from data.executors.failures import Failures, R, T
from data.executors.local import LocalPool
from data.executors.slurm import ArrayCrew
from data.executors.threads import ThreadPool

ExecutorName = Literal["local", "ray", "slurm-array"]


_CREWS: dict[str, Crew] = {"slurm-array": ArrayCrew()}
"""Executors under which several processes with the same command do a stage together."""


def crew_of(name: ExecutorName) -> Crew:
    """Return who does a stage under the executor of that name."""
    return _CREWS.get(name, ALONE)


def is_shared(name: ExecutorName) -> bool:
    """Return whether several processes do a stage together in one folder under the executor of that name."""
    return name in _CREWS


class Executor(Protocol):
    """Runs one function over many tasks."""

    def __call__(
        self,
        function: Callable[[T], R],
        tasks: Iterable[T],
        progress: Callable[[R], None] | None = None,
        failures: Failures | None = None,
    ) -> list[R]:
        """Return `function(task)` for every task, in the order of the tasks."""


def workers_of(execute: Executor) -> int:
    """Return how many tasks an executor has at work at once; 1 where it does not say."""
    return int(getattr(execute, "workers", 1))


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
        preload: name of the module that local workers import beforehand, while this process goes on.
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
