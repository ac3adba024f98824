"""The local executor: a pool of processes on this machine."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from common.errors import HunminError
from common.output import guard_output
from common.process import EXIT_UNGUARDED, WORKER, end_fork_server, unguarded
from data.executors.call import Call
from data.executors.failures import attempt
from data.executors.imports import safe_imports
from data.executors.payload import Payload, receive
from data.executors.protocol import Executor

ATTEMPTS = 3
"""How often a work unit is tried when its worker dies."""
FIRST_WORKERS = 2
"""Workers started at once for the first task; then as many again as there are, so that few tasks start few."""
END_SECONDS = 5
SERVER_ENDS_SECONDS = 0.2
"""Between a server's refusal to start a worker and the next one: by then it is seen to be dead."""
READY, LEARN = "ready", "learn"
"""A worker's first message; and the parent's that a function follows (all its others are tasks)."""


class LocalPool(Executor):
    """Runs functions over tasks in processes that stay from call to call; used in a `with` block.

    Workers are forked from a server, a fresh process that has no threads (so none of this process's can deadlock them)
    and imports once what they all need. They ignore Ctrl-C, end with this process, and share one copy of large arrays
    that a function holds.

    Args:
        workers: most processes, >= 1; 1 runs in this process.
        preload: name of the module that the server imports, while this process continues; a server that an earlier pool
            of this process has started serves on as it is, and its workers import what they lack.
    """

    def __init__(self, workers: int, preload: str | None = None) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self.workers, self._preload = workers, preload
        self._workers: list[_Worker] = []
        self._started: threading.Event | None = None
        """Set once the first workers are there that a thread of its own starts."""
        self._lost = 0
        self._ending = False

    def __enter__(self) -> LocalPool:
        """Start the server if there is something to import, and the first workers when it is ready."""
        if self.workers > 1:  # else the server would import the main module
            forkserver.set_forkserver_preload([self._preload] if self._preload else [])
        if self._preload and self.workers > 1:
            with _starting_processes():
                forkserver.ensure_running()
            self._started = threading.Event()
            threading.Thread(target=self._start_first, args=(self._started,)).start()
        return self

    def __exit__(self, *error: object) -> None:
        """End the workers."""
        self._close()

    def _run(self, call: Call, function: Callable[[Any], Any]) -> None:
        if self.workers == 1:
            call.run_here(function)
            return
        try:
            self._share_out(call, Payload(function))
        except BaseException:
            self._close()  # what is still at work belongs to nobody
            raise

    def _share_out(self, call: Call, payload: Payload) -> None:
        if self._started:
            self._started.wait()
        while True:
            for worker in self._workers:
                if worker.idle and call.has_task():
                    worker.give(*call.take(), payload)
            if call.has_task() and all(worker.task is not None for worker in self._workers):
                self._start(max(FIRST_WORKERS, len(self._workers)))
            if not call.has_task() and not any(worker.task is not None for worker in self._workers):
                return
            if not self._workers:
                continue  # none could be started; to wait for nothing would take for ever
            watched = [worker for worker in self._workers if not worker.idle]
            ready = wait([worker.connection for worker in watched])
            for worker in watched:
                if worker.connection in ready:
                    self._hear(worker, call)

    def _start_first(self, started: threading.Event) -> None:
        try:
            self._start(FIRST_WORKERS)
        finally:
            started.set()

    def _start(self, count: int) -> None:
        """Start so many workers, as far as there may be more."""
        for _ in range(min(count, self.workers - len(self._workers))):
            if self._ending:
                return
            try:
                self._workers.append(_Worker(self._context))
            except (OSError, EOFError) as error:  # the server ended; it is started again with the next worker
                self._lose(f"none, {type(error).__name__}")
                time.sleep(SERVER_ENDS_SECONDS)

    def _hear(self, worker: _Worker, call: Call) -> None:
        """Take what a worker says: that it is ready, or what became of its task; nothing is said by a dead one."""
        try:
            message = worker.connection.recv()
        except (EOFError, OSError):
            self._bury(worker, call)
            return
        self._lost = 0
        if worker.task is None:
            worker.ready = True
            return
        worker.task = None
        call.settle(worker.index, message)

    def _bury(self, worker: _Worker, call: Call) -> None:
        """Take a dead worker out, and let another do its task unless that has killed too many."""
        worker.end()
        self._workers.remove(worker)
        code = worker.process.exitcode
        if code == EXIT_UNGUARDED:
            raise unguarded() from None
        if worker.task is not None:
            call.retry(
                worker.index,
                worker.task,
                ATTEMPTS,
                f"a worker died {ATTEMPTS} times on it (exit code {code}; -9 is often the kernel's out-of-memory "
                "killer: fewer workers need less memory)",
            )
            return
        self._lose(f"exit code {code}")

    def _lose(self, end: str) -> None:
        """Count a worker that died before it took a task.

        Raises:
            HunminError: several did, one after the other.
        """
        self._lost += 1
        if self._lost == ATTEMPTS:
            raise HunminError(
                f"{ATTEMPTS} workers died as they started ({end})",
                "a worker is a Python process like this one",
                "look at what they wrote above; fewer workers need less memory",
            ) from None

    def _close(self) -> None:
        if self._started:
            self._ending = True
            if not self._started.is_set():  # the server still imports, for nothing
                end_fork_server()
            self._started.wait()
            self._started, self._ending = None, False
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.end()
        self._workers = []


class _Worker:
    """One process, its pipe, the function it has learned, and the task it has."""

    def __init__(self, context: Any) -> None:
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), name=WORKER, daemon=True)
        with _starting_processes():
            self.process.start()
        theirs.close()
        self.ready = False
        """Whether it has said so. Nothing is sent before: what a pipe does not hold would make the parent wait."""
        self.index = -1
        self.task: Any = None
        self._learned: Payload | None = None

    @property
    def idle(self) -> bool:
        return self.ready and self.task is None

    def give(self, index: int, task: Any, payload: Payload) -> None:
        """Send a task, and before it the function unless the worker has it."""
        self.index, self.task = index, task
        with suppress(OSError):  # a worker that is already dead shows up as the end of its pipe
            if payload is not self._learned:
                self._learned = payload
                self.connection.send(LEARN)
                payload.send(self.connection)
            self.connection.send(task)

    def end(self) -> None:
        """Wait for the process, which has ended or been told to."""
        self.connection.close()
        self.process.join(timeout=END_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


@contextmanager
def _starting_processes() -> Iterator[None]:
    """Start processes in the block that leave Ctrl-C to this one, also while they import, and import only their own."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with safe_imports():
            resource_tracker.ensure_running()
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # to start the tracker unblocks it
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _work(connection: Connection) -> None:
    guard_output()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    function: Any = None
    with suppress(EOFError, OSError):
        connection.send(READY)
        while True:
            message = connection.recv()
            if message == LEARN:
                function = receive(connection)
                gc.freeze()  # it stays: the collector need not walk it again and again
            else:
                connection.send(attempt(function, message))


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
