"""Child processes that never outlive the program that started them, and the cores there are for them."""

from __future__ import annotations

import atexit
import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import forkserver
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from common.errors import UserError
from common.progress import say

SAFE_PATH = "PYTHONSAFEPATH"
"""Variable by which Python 3.11 and later import nothing of the folder that a command is given in."""
WITH_SAFE_PATH = f"{SAFE_PATH}=1"
"""`SAFE_PATH` set, as an argument of `env`."""
WORKER = "hunmin-worker"
"""Prefix of the name of a pool's process."""
AGAIN_SECONDS = 0.5
"""Time after a first stop signal from which on a Ctrl-C is a second one."""
EXIT_UNGUARDED = 97
"""Exit code of a pool's process that would start its script's command again; see `refuse_unguarded`."""


class Terminated(BaseException):
    """This process was asked to end (SIGTERM); raised in the main thread, so that what must be undone is undone."""


def end_on_sigterm() -> None:
    """Let SIGTERM raise `Terminated`, as Ctrl-C raises KeyboardInterrupt: `finally` blocks run, children are ended."""

    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, terminate)


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies (Linux); elsewhere the parent has to clean up."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def end_process(code: int) -> NoReturn:
    """End this process with an exit code: its threads joined, its exit handlers run, its output written, and the
    interpreter not taken down.

    Torch keeps a process group of DistributedDataParallel to the end. Where a thread of the group still lets go of a
    tensor while the interpreter goes down, that would abort the process (SIGABRT), whose work is done and written.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # what multiprocessing does at the end of a process
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # whoever read it has gone
            stream.flush()
    os._exit(code)


def refuse_unguarded() -> None:
    """Refuse to begin a command where a process is importing the script that started it; called first by whatever
    starts processes that import the main module.

    Raises:
        UserError: it is. A pool's process ends without a word instead, and its pool raises the error, once.
    """
    process = multiprocessing.current_process()
    if getattr(process, "_inheriting", False):  # how multiprocessing itself tells it
        if process.name.startswith(WORKER):
            os._exit(EXIT_UNGUARDED)
        raise unguarded()


def unguarded() -> UserError:
    """Return the error for a script that calls Hunmin where every process which imports it calls it again."""
    script = Path(getattr(sys.modules["__main__"], "__file__", None) or "the script").name
    return UserError(
        f'{script} calls hunmin without the guard `if __name__ == "__main__":`',
        "each worker process imports the script that started it, and would call hunmin again",
        "put the calls into a function main() and end the script with these two lines:\n"
        '          if __name__ == "__main__":\n'
        "              main()",
    )


def core_numbers() -> frozenset[int]:
    """Return which cores of the machine this process may use; a job on a cluster is given a part of them."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def available_cores() -> int:
    """Return the number of cores this process may use."""
    return len(core_numbers())


def own_package() -> dict[str, str]:
    """Return the variables by which a child imports this very package, and not what a `data.py` in the folder that the
    command is given in would hide it by (before Python 3.11, which does not know the first one, it does).
    """
    # a wheel's is hunmin.common…; a literal "common.process" would be rewritten there
    clone = [str(Path(__file__).parents[1])] if __name__.split(".")[0] == "common" else []
    # an empty name between two colons would be the current folder
    paths = [*clone, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {SAFE_PATH: "1", **({"PYTHONPATH": os.pathsep.join(paths)} if paths else {})}


def end_fork_server() -> None:
    """End the server that multiprocessing forks this process's workers from, also while it imports; the next worker
    begins another."""
    server: Any = forkserver._forkserver  # type: ignore[attr-defined]  # nothing public ends it
    if server._forkserver_pid is not None:
        with suppress(ProcessLookupError):
            os.kill(server._forkserver_pid, signal.SIGKILL)  # asked politely, it would import to the end first
    server._stop()


def say_waiting(awaited: str, again: str = "") -> None:
    """Say after a stop signal what this process waits for, so that nobody takes it for hanging.

    Args:
        awaited: what it waits for: "the work units under way".
        again: what another Ctrl-C does; "" where it does nothing.
    """
    say(f"interrupted: waiting for {awaited}{f'; Ctrl-C again {again}' if again else ''}", "yellow", interrupts=True)


def run_child(
    command: Sequence[str], environment: dict[str, str] | None = None, *, until: str, kill: bool = False
) -> int:
    """Run a child to its end and return its exit code; Ctrl-C and SIGTERM are passed on, and the child is waited for.

    A first signal lets the child save and leave, and says so; the child's own exit code says what became of it.

    Args:
        command: program and arguments.
        environment: variables on top of this process's.
        until: what the child does after a signal, for people.
        kill: whether a second Ctrl-C kills the child; else it is passed on as the first.

    Raises:
        KeyboardInterrupt: a second Ctrl-C has killed the child.
    """
    child = subprocess.Popen(list(command), env={**os.environ, **(environment or {})}, preexec_fn=die_with_parent)
    asked: list[float] = []
    killed = False

    def pass_on(number: int, frame: FrameType | None) -> None:
        nonlocal killed
        asked.append(time.monotonic())
        if len(asked) == 1:
            say_waiting(until, "ends it at once, without what it has not saved" if kill else "")
        # one Ctrl-C may come twice: from the terminal, and from a parent that passes it on
        killed = killed or (kill and number == signal.SIGINT and asked[-1] - asked[0] > AGAIN_SECONDS)
        child.send_signal(signal.SIGKILL if killed else number)

    # a terminal's Ctrl-C reaches the child as well; a plain `kill` of this process does not, so it is passed on
    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if killed:
        raise KeyboardInterrupt
    return code
