"""Threads as local workers, for functions that spend their time in compiled code: no start, one copy of everything."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from typing import Any

from data.executors.failures import Failure, Failures, R, T, attempt, raise_failures

LOCK_WAIT = 0.0002
"""Seconds after which a thread that waits for the interpreter's lock gets it. Functions that are mostly compiled code
come back for it often and for a moment; Python's 5 ms would be longer than what they want it for."""


class ThreadPool:
    """Runs functions over tasks in threads of this process.

    Args:
        workers: threads, >= 1.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def __call__(
        self,
        function: Callable[[T], R],
        tasks: Iterable[T],
        progress: Callable[[R], None] | None = None,
        failures: Failures | None = None,
    ) -> list[R]:
        """Return `function(task)` for every task, in the order of the tasks.

        Args:
            function: safe to call in several threads at once.
            tasks: work units with a `name`, drawn as threads become free.
            progress: called in this thread with each result as it comes.
            failures: gets the tasks that failed, which have no result; without it they are raised.

        Raises:
            HunminError: the function raised one; after all other tasks are done, and with the name of each task that
                failed.
            DiskFullError: at once, but for the tasks that are at work.
        """
        failed = Failures() if failures is None else failures
        left = enumerate(tasks)
        results: dict[int, R] = {}
        working: dict[Future[Any], int] = {}
        with _short_turns(), ThreadPoolExecutor(self._workers) as pool:
            while True:
                for index, task in islice(left, self._workers - len(working)):
                    working[pool.submit(attempt, function, task)] = index
                if not working:
                    break
                for done in wait(working, return_when=FIRST_COMPLETED).done:
                    index, result = working.pop(done), done.result()
                    if isinstance(result, Failure):
                        failed.add(result)
                        continue
                    results[index] = result
                    if progress:
                        progress(result)
        if failures is None:
            raise_failures(failed)
        return [results[index] for index in sorted(results)]


@contextmanager
def _short_turns() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(LOCK_WAIT)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
