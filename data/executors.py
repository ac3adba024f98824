"""Executors: run one function over many work units. Here the local process pool; others take the same arguments.

An executor is a callable `(function, tasks, workers, progress) -> results in the order of the tasks`. The function
and the tasks are picklable and a task's work depends on nothing else, so where it runs cannot change what it gives.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol, TypeVar

from common.errors import HunminError

R = TypeVar("R")

ATTEMPTS = 2
"""How often a work unit is tried when its worker dies."""
PARENT_CHECK_SECONDS = 0.5


class Task(Protocol):
    """A work unit; its name appears in messages."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Task)


def run_local(
    function: Callable[[T], R], tasks: Iterable[T], workers: int, progress: Callable[[R], None] | None = None
) -> list[R]:
    """Return `function(task)` for every task, in the order of the tasks.

    Tasks are drawn one at a time as workers become free, so they may carry large payloads. Workers are fresh
    processes (no fork: threads of the parent cannot deadlock them); they ignore Ctrl-C and end with the parent.

    Args:
        function: picklable; sent once to each worker, so it may hold large read-only data (functools.partial).
        tasks: picklable work units with a `name`.
        workers: processes, >= 1; 1 runs in this process.
        progress: called in this process with each result as it comes.

    Raises:
        HunminError: a worker died twice on the same task (named in the message), or the function raised one.
    """
    if workers <= 1:
        results = []
        for task in tasks:
            results.append(function(task))
            if progress:
                progress(results[-1])
        return results
    pool = _Pool(function, workers)
    try:
        return pool.run(iter(tasks), progress)
    finally:
        pool.close()


def available_workers() -> int:
    """Return the number of cores this process may use."""
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker:
    """One process, its pipe, and the task it has."""

    def __init__(self, context: Any, payload: bytes) -> None:
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, os.getpid()), daemon=True)
        self.process.start()
        theirs.close()
        self.index = -1
        self.task: Any = None
        with suppress(OSError):
            self.connection.send_bytes(payload)

    def give(self, index: int, task: Any) -> None:
        self.index, self.task = index, task
        with suppress(OSError):  # a worker that is already dead shows up as the end of its pipe
            self.connection.send(task)


class _Pool:
    def __init__(self, function: Callable[[Any], Any], workers: int) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._payload = pickle.dumps(function, protocol=pickle.HIGHEST_PROTOCOL)
        self._limit = workers
        self._workers: list[_Worker] = []
        self._attempts: dict[int, int] = {}

    def run(self, tasks: Iterator[Any], progress: Callable[[Any], None] | None) -> list[Any]:
        """Return the function's result for every task, in the tasks' order; `progress` gets each as it comes."""
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
                return [results[index] for index in range(len(results))]
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
        if len(self._workers) < self._limit:
            self._workers.append(_Worker(self._context, self._payload))
            return self._workers[-1]
        return None

    def _collect(self, worker: _Worker, results: dict[int, Any]) -> bool:
        """Take a worker's result; a dead worker's task goes to a new worker. Returns whether a result came."""
        try:
            done, value = worker.connection.recv()
        except (EOFError, OSError):
            self._replace(worker)
            return False
        if not done:
            raise value
        results[worker.index] = value
        worker.index, worker.task = -1, None
        return True

    def _replace(self, worker: _Worker) -> None:
        worker.process.join(timeout=5)
        attempts = self._attempts[worker.index] = self._attempts.get(worker.index, 1) + 1
        if attempts > ATTEMPTS:
            raise HunminError(
                f"a worker died {ATTEMPTS} times on {worker.task.name} (exit code {worker.process.exitcode})",
                "a work unit is done by a worker that lives to its end",
                "look for the kernel's out-of-memory message (fewer workers need less memory), or take that input out",
            )
        fresh = _Worker(self._context, self._payload)
        self._workers[self._workers.index(worker)] = fresh
        fresh.give(worker.index, worker.task)

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
            task = connection.recv()
            try:
                answer = True, function(task)
            except HunminError as error:
                answer = False, error
            except Exception:
                answer = False, RuntimeError(f"work unit {task.name} failed\n{traceback.format_exc()}")
            connection.send(answer)
    except (EOFError, OSError):
        return


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_SECONDS)
    os._exit(1)
