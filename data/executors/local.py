"""The local executor: a pool of processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from data.executors.failures import Failure, Failures, R, T, attempt, raise_failures

ATTEMPTS = 3
"""How often a work unit is tried when its worker dies."""
FIRST_WORKERS = 2
"""Workers started at once for the first task; then as many again as there are, so that few tasks start few."""
PARENT_CHECK_SECONDS = 0.5


def run_local(
    function: Callable[[T], R],
    tasks: Iterable[T],
    progress: Callable[[R], None] | None = None,
    failures: Failures | None = None,
    *,
    workers: int,
) -> list[R]:
    """Return `function(task)` for every task, in the order of the tasks.

    Tasks are drawn one at a time as workers become free, so they may carry large payloads. Workers are fresh
    processes (no fork: threads of the parent cannot deadlock them); they ignore Ctrl-C and end with the parent.

    Args:
        function: picklable; sent once to each worker, so it may hold large read-only data (functools.partial).
        tasks: picklable work units with a `name`.
        progress: called in this process with each result as it comes.
        failures: gets the tasks that failed, which have no result; without it they are raised.
        workers: processes, >= 1; 1 runs in this process.

    Raises:
        HunminError: the function raised one, or three workers died on the same task; after all other tasks are done,
            and with the name of each task that failed.
        DiskFullError: at once.
    """
    failed = Failures() if failures is None else failures
    if workers <= 1:
        results = []
        for task in tasks:
            result = attempt(function, task)
            if isinstance(result, Failure):
                failed.add(result)
                continue
            results.append(result)
            if progress:
                progress(result)
    else:
        pool = _Pool(function, workers, failed)
        try:
            results = pool.run(iter(tasks), progress)
        finally:
            pool.close()
    if failures is None:
        raise_failures(failed)
    return results


def available_workers() -> int:
    """Return the number of cores this process may use."""
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker:
    """One process, its pipe, and the task it has; the first thing it waits for is the function."""

    def __init__(self, context: Any) -> None:
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, os.getpid()), daemon=True)
        self.process.start()
        theirs.close()
        self.index = -1
        self.task: Any = None

    def teach(self, payload: bytes) -> None:
        with suppress(OSError):
            self.connection.send_bytes(payload)

    def give(self, index: int, task: Any) -> None:
        self.index, self.task = index, task
        with suppress(OSError):  # a worker that is already dead shows up as the end of its pipe
            self.connection.send(task)


class _Pool:
    def __init__(self, function: Callable[[Any], Any], workers: int, failures: Failures) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._payload = pickle.dumps(function, protocol=pickle.HIGHEST_PROTOCOL)
        self._limit, self._failures = workers, failures
        self._workers: list[_Worker] = []
        self._attempts: dict[int, int] = {}

    def run(self, tasks: Iterator[Any], progress: Callable[[Any], None] | None) -> list[Any]:
        """Return the function's results in the tasks' order, without those of failed tasks."""
        results: dict[int, Any] = {}
        numbered = enumerate(tasks)
        more = True
        while True:
            while more and (worker := self._idle()):
                following = next(numbered, None)
                more = following is not None
                if following:
                    worker.give(*following)
            busy = [worker for worker in self._workers if worker.task is not None]
            if not busy:
                return [results[index] for index in sorted(results)]
            ready = wait([worker.connection for worker in busy])
            for worker in busy:
                if worker.connection in ready:
                    index = worker.index
                    if self._collect(worker, results) and progress:
                        progress(results[index])

    def _idle(self) -> _Worker | None:
        for worker in self._workers:
            if worker.task is None:
                return worker
        return self._start(max(FIRST_WORKERS, len(self._workers)))

    def _start(self, count: int) -> _Worker | None:
        """Start so many workers, as far as there may be more, and return the first of them."""
        fresh = [_Worker(self._context) for _ in range(min(count, self._limit - len(self._workers)))]
        self._workers += fresh  # all start before one is waited for: a pipe takes little before it is read
        for worker in fresh:
            worker.teach(self._payload)
        return fresh[0] if fresh else None

    def _collect(self, worker: _Worker, results: dict[int, Any]) -> bool:
        """Take a worker's result; a dead worker's task goes to a new worker. Returns whether a result came."""
        try:
            value = worker.connection.recv()
        except (EOFError, OSError):
            self._replace(worker)
            return False
        index, worker.index, worker.task = worker.index, -1, None
        if isinstance(value, Failure):
            self._failures.add(value)
            return False
        results[index] = value
        return True

    def _replace(self, worker: _Worker) -> None:
        """Put a new worker in a dead one's place, with its task unless that has killed too many."""
        worker.connection.close()
        worker.process.join(timeout=5)
        place = self._workers.index(worker)
        attempts = self._attempts[worker.index] = self._attempts.get(worker.index, 0) + 1
        if attempts < ATTEMPTS:
            self._workers[place] = _Worker(self._context)
            self._workers[place].teach(self._payload)
            self._workers[place].give(worker.index, worker.task)
            return
        del self._workers[place]
        self._failures.add(
            Failure(
                worker.task.name,
                f"a worker died {ATTEMPTS} times on it (exit code {worker.process.exitcode}; -9 is often the kernel's "
                "out-of-memory killer: fewer workers need less memory)",
            )
        )

    def close(self) -> None:
        for worker in self._workers:
            worker.connection.close()
            if worker.task is not None:
                worker.process.terminate()
        for worker in self._workers:
            worker.process.join(timeout=5)
            if worker.process.is_alive():
                worker.process.kill()


def _work(connection: Connection, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        function = pickle.loads(connection.recv_bytes())
        while True:
            connection.send(attempt(function, connection.recv()))
    except (EOFError, OSError):
        return


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_SECONDS)
    os._exit(1)
