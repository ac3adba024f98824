"""The protocol of an executor."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from data.executors.call import Call
from data.executors.failures import Failures, R, T


class Executor(AbstractContextManager["Executor"]):
    """Runs one function over many tasks; used in a `with` block.

    Attributes:
        workers: how many tasks may be at work at once, >= 1.
    """

    workers: int

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
                and with the name of each task that failed. What no task can fix is raised at once.
            DiskFullError: at once.
        """
        call = Call(tasks, progress, failures)
        self._run(call, function)
        return call.results()

    @abstractmethod
    def _run(self, call: Call, function: Callable[[Any], Any]) -> None:
        """Do all tasks of the call."""
