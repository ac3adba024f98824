"""The local executor: processes of this machine by multiprocessing's "forkserver", which keeps one server a process."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from common.errors import HunminError
from common.output import guard_output
from common.process import EXIT_UNGUARDED, WORKER, die_with_parent, end_fork_server, own_package, unguarded
from data.executors.failures import attempt
from data.executors.imports import safe_imports
from data.executors.payload import Payload, receive
from data.executors.protocol import Call, Executor

ATTEMPTS = 3
"""Attempts at a work unit whose worker dies, and at starting a worker whose fork server dies."""
FIRST_WORKERS = 2
"""Workers started at once for the first task; then as many again as there are, so that few tasks start few."""
END_SECONDS = 5
SERVER_ENDS_SECONDS = 0.2
"""Between a server's refusal to start a process and the next try: by then it is seen to be dead, and begun anew."""
READY, LEARN = "ready", "learn"
"""A worker's first message; and the parent's that a function follows (all its others are tasks)."""


class LocalPool(Executor):
    """Processes that work at tasks from call to call, or at a job each (`start`); used in a `with` block.

    They are forked from a server, a fresh process that has no threads (so none of this process's can deadlock them)
    and imports once what they all need. They ignore Ctrl-C, end with this process, and share one copy of large arrays
    that a function holds. A job that a signal kills takes no other along, ends with the server, and leaves a GPU its
    memory whole.

    Args:
        workers: most processes that work at tasks, >= 1; 1 does them in this process.
        modules: names of modules that the server imports, while this process continues; a server that an earlier pool
            of this process has started serves on as it is, and its processes import what they lack.
        environment: variables of the processes; with any, the server is begun for this pool and ends with it.
    """

    def __init__(
        self, workers: int = 1, modules: Sequence[str] = (), environment: Mapping[str, str] | None = None
    ) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self.workers = workers
        self._modules = list(modules)
        self._own_server = environment is not None
        self._environment = {**own_package(), **(environment or {})}
        self._running: dict[Any, Any] = {}
        """Processes, by the names of their jobs, those that work at tasks by their `_Worker`."""
        self._workers: list[_Worker] = []
        self._lost = 0

    def __enter__(self) -> LocalPool:
        """Start the server if there is something to import."""
        if self._own_server:
            end_fork_server()
        if self._own_server or self.workers > 1:  # else the server would import the main module
            forkserver.set_forkserver_preload(self._modules)
        if self._own_server or (self._modules and self.workers > 1):
            with self._starting():
                pass
        return self

    def __exit__(self, *error: object) -> None:
        self._close(self._own_server or any(error))

    def start(self, name: Any, function: Callable[..., object], *arguments: Any, log: Path | None = None) -> None:
        """Start `function(*arguments)` in a process of its own.

        Args:
            function: picklable; a HunminError that it raises is printed as one message, and its exit code given.
            log: file for what it prints; None: it prints where this process does.

        Raises:
            HunminError: no process could be started.
        """
        begun = function, arguments, log and str(log)
        process = self._context.Process(target=_begin, args=begun, name=WORKER, daemon=True)
        for left in reversed(range(ATTEMPTS)):
            try:
                with self._starting():
                    process.start()
            except (OSError, EOFError) as error:
                if not left:
                    raise HunminError(
                        f"no process could be started: {error or type(error).__name__}",
                        "work is done in processes like this one",
                        "look at what they wrote above; the same command does what is missing",
                    ) from None
                time.sleep(SERVER_ENDS_SECONDS)
            else:
                self._running[name] = process
                return

    def ended(self, seconds: float) -> list[tuple[Any, int]]:
        """Return (name, exit code) of the jobs that ended, after at most `seconds`; minus the signal that killed one.

        Raises:
            UserError: the program's script has no guard for its main module.
        """
        ready = wait([process.sentinel for process in self._running.values()], seconds)
        names = [name for name, process in self._running.items() if process.sentinel in ready]
        return [(name, self._bury(name)) for name in names]

    def _bury(self, name: Any) -> int:
        """Return the exit code of a process that has ended or is about to."""
        process = self._running.pop(name)
        process.join(END_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
        if process.exitcode == EXIT_UNGUARDED:
            raise unguarded() from None
        return int(process.exitcode)

    def _close(self, with_server: bool) -> None:
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            process.join()
        self._running, self._workers = {}, []
        if with_server:
            end_fork_server()

    @contextmanager
    def _starting(self) -> Iterator[None]:
        """Begin the server before the block, in which processes are started, with the pool's environment; Ctrl-C
        reaches this process alone, also while it waits in the block for a server that imports."""
        with safe_imports(self._environment):
            resource_tracker.ensure_running()  # before the mask: it takes it off
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                forkserver.ensure_running()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            yield

    def _run(self, call: Call, function: Callable[[Any], Any]) -> None:
        if self.workers == 1:
            call.run_here(function)
            return
        try:
            self._share_out(call, Payload(function))
        except BaseException:
            self._close(with_server=True)  # what is still at work, or imports, belongs to nobody
            raise

    def _share_out(self, call: Call, payload: Payload) -> None:
        while True:
            for worker in self._workers:
                if worker.idle and call.has_task():
                    worker.give(*call.take(), payload)
            if call.has_task() and all(worker.task is not None for worker in self._workers):
                for _ in range(min(max(FIRST_WORKERS, len(self._workers)), self.workers - len(self._workers))):
                    self._start_worker()
            if not call.has_task() and not any(worker.task is not None for worker in self._workers):
                return
            watched = [worker for worker in self._workers if not worker.idle]
            ready = wait([worker.connection for worker in watched])
            for worker in watched:
                if worker.connection in ready:
                    self._hear(worker, call)

    def _start_worker(self) -> None:
        ours, theirs = self._context.Pipe()
        worker = _Worker(ours)
        self.start(worker, _work, theirs)
        theirs.close()
        self._workers.append(worker)

    def _hear(self, worker: _Worker, call: Call) -> None:
        """Take a worker's message: it is ready, or what became of its task; a dead worker sends none."""
        try:
            message = worker.connection.recv()
        except (EOFError, OSError):
            self._replace(worker, call)
            return
        self._lost = 0
        if worker.task is None:
            worker.ready = True
            return
        worker.task = None
        call.settle(worker.index, message)

    def _replace(self, worker: _Worker, call: Call) -> None:
        """Take a dead worker out and put its task back; HunminError where several died before they took one."""
        self._workers.remove(worker)
        code = self._bury(worker)
        if worker.task is not None:
            call.retry(
                worker.index,
                worker.task,
                ATTEMPTS,
                f"a worker died {ATTEMPTS} times on it (exit code {code}; -9 is often the kernel's out-of-memory "
                "killer: fewer workers need less memory)",
            )
            return
        self._lost += 1
        if self._lost == ATTEMPTS:
            raise HunminError(
                f"{ATTEMPTS} workers died as they started (exit code {code})",
                "a worker is a Python process like this one",
                "look at what they wrote above; fewer workers need less memory",
            ) from None


class _Worker:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.ready = False
        """Whether it has said so. Nothing is sent before: what a pipe does not hold would make the parent wait."""
        self.index = -1
        self.task: Any = None
        self._learned: Payload | None = None

    @property
    def idle(self) -> bool:
        return self.ready and self.task is None

    def give(self, index: int, task: Any, payload: Payload) -> None:
        self.index, self.task = index, task
        with suppress(OSError):  # a worker that is already dead shows up as the end of its pipe
            if payload is not self._learned:
                self._learned = payload
                self.connection.send(LEARN)
                payload.send(self.connection)
            self.connection.send(task)


def _begin(function: Callable[..., object], arguments: Sequence[Any], log: str | None) -> None:
    """Work in a process of the pool; an error that a person can understand comes as one message."""
    if function is not _work:  # whose pipe tells its end; a job's is told by the server alone
        die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_pool, daemon=True).start()
    if log:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        silence = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((silence, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
    guard_output()
    try:
        function(*arguments)
    except HunminError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


def _work(connection: Connection) -> None:
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


def _end_with_pool() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
