"""Fine-tuning jobs, each in a process of its own, forked from a server that has imported torch and transformers once.

Server and processes are the standard library's (multiprocessing, "forkserver"). It keeps one server a process, so the
pool ends the one that an earlier stage began with other modules.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import connection, forkserver, parent_process, resource_tracker
from pathlib import Path
from typing import Any

from common.errors import HunminError
from common.output import guard_output
from common.process import EXIT_UNGUARDED, WORKER, die_with_parent, end_fork_server, own_package, unguarded

STARTS = 3
"""How often a process is asked for when the server dies over it."""
SERVER_ENDS = 0.2
"""Seconds between a server's refusal and the next try: by then it is seen to be dead, and begun anew."""


def modules_of(family: str) -> list[str]:
    """Return the modules that jobs need, which take seconds to import."""
    name = family.replace("-", "_")  # where the library has no such module the server passes over it
    return [f"{__package__}.finetune", f"transformers.models.{name}.modeling_{name}"]


class JobPool:
    """Runs jobs, each in its own process, for a `with` block; whatever still runs at its end is killed.

    One that a signal kills takes no other along, and a GPU gets its memory back whole from one that has ended.
    """

    def __init__(self, modules: Sequence[str], threads: int) -> None:
        self._modules, self._context = list(modules), multiprocessing.get_context("forkserver")
        self._running: dict[str, Any] = {}
        self._environment = {
            **own_package(),
            "OMP_NUM_THREADS": str(threads),
            "MKL_NUM_THREADS": str(threads),
            "TOKENIZERS_PARALLELISM": "false",
            "HF_HUB_OFFLINE": "1",
        }

    def __enter__(self) -> JobPool:
        end_fork_server()
        forkserver.set_forkserver_preload(self._modules)
        with self._starting():
            pass
        return self

    def start(self, name: str, function: Callable[[Any], object], job: Any, log: Path) -> None:
        """Start `function(job)` in a process, with what it prints in a log file. Raises HunminError where no process
        could be begun."""
        process = self._context.Process(target=_work, args=(function, job, str(log)), name=WORKER, daemon=True)
        for left in reversed(range(STARTS)):
            try:
                with self._starting():
                    process.start()
            except (OSError, EOFError) as error:
                if not left:
                    raise HunminError(
                        f"no process for {name} could be started: {error or type(error).__name__}",
                        "a job is a process of its own",
                        "run the same command again: finished jobs are kept",
                    ) from None
                time.sleep(SERVER_ENDS)
            else:
                self._running[name] = process
                return

    def ended(self, wait: float) -> list[tuple[str, int]]:
        """Return (name, exit code) of the jobs that have ended since; a negative code is the signal that killed.

        Args:
            wait: seconds to wait at most for one to end.

        Raises:
            UserError: the program's script has no guard for its main module.
        """
        ready = connection.wait([process.sentinel for process in self._running.values()], wait)
        names = [name for name, process in self._running.items() if process.sentinel in ready]
        ends = [(name, self._bury(name)) for name in names]
        if any(code == EXIT_UNGUARDED for _, code in ends):
            raise unguarded()
        return ends

    def _bury(self, name: str) -> int:
        process = self._running.pop(name)
        process.join()
        return int(process.exitcode)

    def __exit__(self, *error: object) -> None:
        for process in self._running.values():
            process.kill()
        for name in list(self._running):
            self._bury(name)
        end_fork_server()
        forkserver.set_forkserver_preload([])

    @contextmanager
    def _starting(self) -> Iterator[None]:
        """Begin the server before the block, in which jobs are begun, with the pool's environment; Ctrl-C reaches this
        process alone, also while it waits in the block for a server that imports."""
        resource_tracker.ensure_running()  # before the mask: it takes it off
        before = dict(os.environ)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.environ.update(self._environment)
        try:
            forkserver.ensure_running()
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            yield
        finally:
            for name in self._environment.keys() - before.keys():
                del os.environ[name]
            os.environ.update(before)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _work(function: Callable[[Any], object], job: Any, log: str) -> None:
    """Run a job in a process of its own; an error that a person can understand comes as one message."""
    die_with_parent()  # that is the server
    threading.Thread(target=_end_with_runner, daemon=True).start()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    silence = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((silence, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    guard_output()
    try:
        function(job)
    except HunminError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


def _end_with_runner() -> None:
    runner = parent_process()
    assert runner is not None
    runner.join()
    os._exit(1)
