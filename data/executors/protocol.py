"""What every executor is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from data.executors.failures import Failures, R, T


class Executor(Protocol):
    """Runs one function over many tasks."""

    def __call__(
        self,
        function: Callable[[T], R],
        tasks: Iterable[T],
        progress: Callable[[R], None] | None = None,
        failures: Failures | None = None,
    ) -> list[R]:
        """Return `function(task)` for every task, in the order of the tasks.

        Args:
            function: picklable; it may hold large arrays (functools.partial).
            tasks: picklable work units with a `name`, drawn one at a time as workers become free.
            progress: called in this process with each result as it comes.
            failures: gets the tasks that failed, which have no result; without it they are raised.

        Raises:
            HunminError: the function raised one, or workers died on a task too often; after all other tasks are done,
                and with the name of each task that failed.
            DiskFullError: at once.
        """


def workers_of(execute: Executor) -> int:
    """Return how many tasks an executor has at work at once; 1 where it does not say."""
    return int(getattr(execute, "workers", 1))
