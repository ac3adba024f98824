"""A process that forks one process a job: torch and transformers are imported once, not once a job (4 s each).

`python -m klue.job_server MODEL` reads lines {"job", "log"} (paths) on stdin and answers {"job", "code"} on stdout as
each ends; a negative code is the signal that killed the job. It ends, and ends its jobs, when stdin does.

It is not multiprocessing's fork server: of these a process has one, and the corpus stage of the same run has begun it
with the modules of its own work.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
import traceback
from contextlib import suppress
from typing import Any

PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies (Linux), and end at once if it is dead already."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def fork_job(job: str, log: str) -> int:
    """Fork a process that runs the job with its output in the log file; return its process id."""
    server = os.getpid()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        die_with(server)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        silence = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((silence, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        from klue.job import run_file

        code = run_file(job)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        # no exit handlers: they belong to the server
        os._exit(code)


def serve(requests: int, answers: int) -> None:
    """Fork a job for each request line and answer as jobs end, until the requests end.

    Args:
        requests: file descriptor to read from.
        answers: file descriptor to write to.
    """
    running: dict[int, str] = {}
    pending = b""
    try:
        while True:
            readable, _, _ = select.select([requests], [], [], 0.05)
            if readable:
                data = os.read(requests, 1 << 16)
                if not data:
                    return
                *lines, pending = (pending + data).split(b"\n")
                for line in lines:
                    request = json.loads(line)
                    running[fork_job(request["job"], request["log"])] = request["job"]
            while running:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                answer: dict[str, Any] = {"job": running.pop(pid), "code": os.waitstatus_to_exitcode(status)}
                os.write(answers, json.dumps(answer).encode() + b"\n")
    finally:
        for pid in running:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def main() -> None:
    """Import what jobs need, then serve on stdin and stdout."""
    die_with(int(os.environ["HUNMIN_JOB_SERVER_PARENT"]))
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever prints while it is imported must not mix with the answers
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    from klue import job  # noqa: F401
    from klue.finetune import preload

    with suppress(Exception):  # a model that cannot be built is for its jobs to report
        preload(sys.argv[1])
    serve(0, answers)


if __name__ == "__main__":
    main()
