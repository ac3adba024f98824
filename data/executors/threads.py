"""Threads as local workers, for functions that spend their time in compiled code: no start, one copy of everything."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from data.executors.call import Call
from data.executors.failures import Failures, R, T, attempt

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
        """Return `function(task)` for every task, in the order of the tasks; all as any executor (`protocol`).

        The function is called in several threads at once.
        """
        call = Call(tasks, progress, failures)
        working: dict[Future[Any], int] = {}
        with _short_turns(), ThreadPoolExecutor(self._workers) as pool:
            while True:
                while len(working) < self._workers and call.has_task():
                    index, task = call.take()
                    working[pool.submit(attempt, function, task)] = index
                if not working:
                    return call.results()
                for done in wait(working, return_when=FIRST_COMPLETED).done:
                    call.settle(working.pop(done), done.result())


@contextmanager
def _short_turns() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(LOCK_WAIT)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
