"""The protocol of an executor, and one call of it: the tasks that are left, and what came of the others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any

from data.executors.failures import Failure, Failures, R, T, attempt, raise_failures


class Call:
    """Hands out an executor's tasks, one at a time as they are asked for, and gathers results and failures."""

    def __init__(self, tasks: Iterable[Any], progress: Callable[[Any], None] | None, failures: Failures | None) -> None:
        self._raises = failures is None
        self._failures = Failures() if failures is None else failures
        self._progress = progress
        self._results = dict[int, Any]()
        self._left = enumerate(tasks)
        self._next: list[tuple[int, Any]] = []
        self._tries: dict[int, int] = {}

    def has_task(self) -> bool:
        """Return whether a task is left, by drawing it if need be."""
        if not self._next:
            self._next = list(islice(self._left, 1))
        return bool(self._next)

    def take(self) -> tuple[int, Any]:
        """Return the number of a task, and the task."""
        return self._next.pop()

    def settle(self, index: int, result: Any) -> None:
        """Take the result of a task, or its `Failure`."""
        if isinstance(result, Failure):
            self._failures.add(result)
            return
        self._results[index] = result
        if self._progress:
            self._progress(result)

    def retry(self, index: int, task: Any, attempts: int, reason: str) -> None:
        """Put a task back that its worker did not survive; after so many attempts it fails for this reason."""
        tries = self._tries[index] = self._tries.get(index, 0) + 1
        if tries < attempts:
            self._next.append((index, task))
        else:
            self._failures.add(Failure(task.name, reason))

    def run_here(self, function: Callable[[Any], Any]) -> None:
        """Do all tasks in this thread."""
        while self.has_task():
            index, task = self.take()
            self.settle(index, attempt(function, task))

    def results(self) -> list[Any]:
        """Return the results in the order of the tasks; HunminError for failures that nobody else gets."""
        if self._raises:
            raise_failures(self._failures)
        return [self._results[index] for index in sorted(self._results)]


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
