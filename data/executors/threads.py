"""Threads as local workers, for functions that spend their time in compiled code: no start, one copy of everything."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from common.process import Terminated, say_waiting
from data.executors.failures import attempt
from data.executors.protocol import Call, Executor

LOCK_WAIT = 0.0002
"""Seconds after which a thread that waits for the interpreter's lock gets it. Functions that are mostly compiled code
come back for it often and for a moment; Python's 5 ms would be longer than what they want it for."""


class ThreadPool(Executor):
    """Runs functions over tasks in `workers` (>= 1) threads of this process: several call a function at once."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def __exit__(self, *error: object) -> None:
        """Nothing is left: threads end with their call."""

    def _run(self, call: Call, function: Callable[[Any], Any]) -> None:
        working: dict[Future[Any], int] = {}
        with _short_turns(), ThreadPoolExecutor(self.workers) as pool:
            try:
                while True:
                    while len(working) < self.workers and call.has_task():
                        index, task = call.take()
                        working[pool.submit(attempt, function, task)] = index
                    if not working:
                        return
                    for done in wait(working, return_when=FIRST_COMPLETED).done:
                        call.settle(working.pop(done), done.result())
            except (KeyboardInterrupt, Terminated):
                say_waiting("the work units under way, which threads cannot drop")
                raise


@contextmanager
def _short_turns() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(LOCK_WAIT)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
