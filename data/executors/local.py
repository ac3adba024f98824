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
LEARN = "learn"
"""Message that a pickled function follows; all others are tasks."""


def run_local(
    function: Callable[[T], R],
    tasks: Iterable[T],
    progress: Callable[[R], None] | None = None,
    failures: Failures | None = None,
    *,
    workers: int,
) -> list[R]:
    """Return `function(task)` for every task, in the order of the tasks, from a pool for this one call."""
    with LocalPool(workers) as execute:
        return execute(function, tasks, progress, failures)


def available_workers() -> int:
    """Return the number of cores this process may use."""
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalPool:
    """Runs functions over tasks in processes that stay from call to call; used in a `with` block.

    Workers are fresh processes (no fork: threads of the parent cannot deadlock them); they ignore Ctrl-C and end with
    the parent.

    Args:
        workers: most processes, >= 1; 1 runs in this process.
        prepare: picklable; what each worker does as it starts. The first workers then start on entering the block, and
            import and load what they need while this process goes on.
    """

    def __init__(self, workers: int, prepare: Callable[[], None] | None = None) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._limit, self._prepare = workers, prepare
        self._workers: list[_Worker] = []
        self._attempts: dict[int, int] = {}
        self._failures = Failures()
        self._payload = b""

    def __enter__(self) -> LocalPool:
        """Start the first workers if there is something to prepare."""
        if self._prepare and self._limit > 1:
            self._start(FIRST_WORKERS)
        return self

    def __exit__(self, *error: object) -> None:
        """End the workers."""
        self._close()

    def __call__(
        self,
        function: Callable[[T], R],
        tasks: Iterable[T],
        progress: Callable[[R], None] | None = None,
        failures: Failures | None = None,
    ) -> list[R]:
        """Return `function(task)` for every task, in the order of the tasks.

        Tasks are drawn one at a time as workers become free, so they may carry large payloads.

        Args:
            function: picklable; sent once to each worker, so it may hold large read-only data (functools.partial).
            tasks: picklable work units with a `name`.
            progress: called in this process with each result as it comes.
            failures: gets the tasks that failed, which have no result; without it they are raised.

        Raises:
            HunminError: the function raised one, or three workers died on the same task; after all other tasks are
                done, and with the name of each task that failed.
            DiskFullError: at once.
        """
        self._failures = Failures() if failures is None else failures
        if self._limit > 1:
            try:
                results = self._run(function, iter(tasks), progress)
            except BaseException:
                self._close()  # what is still at work belongs to nobody
                raise
        else:
            results = self._run_here(function, tasks, progress)
        if failures is None:
            raise_failures(self._failures)
        return results

    def _run_here(
        self, function: Callable[[T], R], tasks: Iterable[T], progress: Callable[[R], None] | None
    ) -> list[R]:
        results = []
        for task in tasks:
            result = attempt(function, task)
            if isinstance(result, Failure):
                self._failures.add(result)
                continue
            results.append(result)
            if progress:
                progress(result)
        return results

    def _run(self, function: Any, tasks: Iterator[Any], progress: Callable[[Any], None] | None) -> list[Any]:
        self._payload = pickle.dumps(function, protocol=pickle.HIGHEST_PROTOCOL)
        self._attempts = {}
        results: dict[int, Any] = {}
        numbered = enumerate(tasks)
        more = True
        while True:
            while more and (worker := self._idle()):
                following = next(numbered, None)
                more = following is not None
                if following:
                    worker.give(*following, self._payload)
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
        fresh = [_Worker(self._context, self._prepare) for _ in range(min(count, self._limit - len(self._workers)))]
        self._workers += fresh
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
            self._workers[place] = _Worker(self._context, self._prepare)
            self._workers[place].give(worker.index, worker.task, self._payload)
            return
        del self._workers[place]
        self._failures.add(
            Failure(
                worker.task.name,
                f"a worker died {ATTEMPTS} times on it (exit code {worker.process.exitcode}; -9 is often the kernel's "
                "out-of-memory killer: fewer workers need less memory)",
            )
        )

    def _close(self) -> None:
        for worker in self._workers:
            worker.connection.close()
            if worker.task is not None:
                worker.process.terminate()
        for worker in self._workers:
            worker.process.join(timeout=5)
            if worker.process.is_alive():
                worker.process.kill()
        self._workers = []


class _Worker:
    """One process, its pipe, the function it has learned, and the task it has."""

    def __init__(self, context: Any, prepare: Callable[[], None] | None) -> None:
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, os.getpid(), prepare), daemon=True)
        self.process.start()
        theirs.close()
        self.index = -1
        self.task: Any = None
        self._learned = b""

    def give(self, index: int, task: Any, payload: bytes) -> None:
        """Send a task, and before it the pickled function unless the worker has it."""
        self.index, self.task = index, task
        with suppress(OSError):  # a worker that is already dead shows up as the end of its pipe
            if payload is not self._learned:
                self._learned = payload
                self.connection.send(LEARN)
                self.connection.send_bytes(payload)
            self.connection.send(task)


def _work(connection: Connection, parent: int, prepare: Callable[[], None] | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    if prepare:
        with suppress(Exception):  # whatever is wrong comes up again in a task, and is reported with it
            prepare()
    function: Any = None
    with suppress(EOFError, OSError):
        while True:
            message = connection.recv()
            if message == LEARN:
                function = pickle.loads(connection.recv_bytes())
            else:
                connection.send(attempt(function, message))


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_SECONDS)
    os._exit(1)
