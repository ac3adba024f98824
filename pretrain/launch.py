"""Launch: the training processes of one machine. Started as `python -m pretrain.launch PROCESSES JOB.json`.

A signal to this process reaches all of them, and they are waited for however long their last step and their checkpoint
take: torchrun would kill them after 30 seconds. Their exit code is this process's, and their messages stand alone.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType

from common.process import die_with_parent

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
GRACE_SECONDS = 10
"""Between the failure of one process and the end of the others, which may have a message of their own to write."""


def launch(command: list[str], processes: int, logs: Path | None = None) -> int:
    """Run the command in so many processes that find each other, and return the first exit code that is not 0.

    What a process says on stderr is passed on as it comes. The first one has the terminal itself, where there is one,
    and draws its progress there.

    Args:
        command: program and arguments.
        processes: on this machine; each gets RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
        logs: folder for a file of each process's stderr; None keeps none.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    prefix = secrets.token_hex(16)
    children: list[subprocess.Popen[bytes]] = []
    copies: list[threading.Thread] = []

    def forward(number: int, frame: FrameType | None) -> None:
        for child in children:
            child.send_signal(number)

    for number in STOP_SIGNALS:
        signal.signal(number, forward)
    for rank in range(processes):
        environment = {
            **os.environ,
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(processes),
            "LOCAL_WORLD_SIZE": str(processes),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "HUNMIN_STORE_PREFIX": prefix,  # `pretrain.stores`, which this process would import torch for
        }
        # a terminal's Ctrl-C reaches this process alone, which passes it on once
        if logs and (rank or not sys.stderr.isatty()):
            pipe, end = os.pipe()
            child = subprocess.Popen(command, env=environment, preexec_fn=_prepare, stderr=end)
            os.close(end)
            copies.append(threading.Thread(target=_copy, args=(pipe, logs / f"rank-{rank}.log"), daemon=True))
            copies[-1].start()
        else:
            child = subprocess.Popen(command, env=environment, preexec_fn=_prepare)
        children.append(child)
    failed_at = 0.0
    while None in [child.poll() for child in children]:  # all of them, so that each one's end is seen
        if _first_failure(children) and not failed_at:
            failed_at = time.monotonic()
        if failed_at and time.monotonic() - failed_at > GRACE_SECONDS:
            for child in children:
                child.kill()
        time.sleep(0.05)
    for copy in copies:
        copy.join(5)  # no longer: something that a process has started may hold its end of the pipe
    ignore_stops()
    return _first_failure(children)


def ignore_stops() -> None:
    """Ignore what asks this process to stop: it has done its work, and would otherwise end by the signal.

    While an interpreter goes down, Python's own handlers are gone already, and what is ignored stays ignored.
    """
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _copy(pipe: int, log: Path) -> None:
    """Pass on what comes through a pipe until its last end is closed, and keep it; a full disk ends nothing."""
    kept: int | None = None
    with suppress(OSError):
        log.parent.mkdir(parents=True, exist_ok=True)
        kept = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    while some := os.read(pipe, 1 << 16):
        for descriptor in (2, kept):
            with suppress(OSError):
                if descriptor is not None:
                    os.write(descriptor, some)


def _prepare() -> None:
    die_with_parent()
    os.setpgid(0, 0)
    # until the program can take them (`StopFlag`), signals wait: they would end a process that is only starting
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)


def _first_failure(children: list[subprocess.Popen[bytes]]) -> int:
    """Return an exit code that is not 0, an error's of its own before that of a process which a signal ended."""
    codes = [child.returncode for child in children if child.returncode]
    return next((code for code in codes if code > 0), 1 if codes else 0)


if __name__ == "__main__":
    job = Path(sys.argv[2])
    sys.exit(launch([sys.executable, "-m", "pretrain.train", str(job)], int(sys.argv[1]), job.parent / "ranks"))
