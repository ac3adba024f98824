"""Training processes forked from one that has imported everything: it saves the seconds of imports of every test's run.

Started as a program, this is that process: it forks for each line on its standard input and says which process it is.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path


class WarmProcess:
    """A training process, or the launcher of several; has what of `subprocess.Popen` the tests use."""

    def __init__(self, job: Path, out: Path, processes: int) -> None:
        server = _server()
        assert server.stdin and server.stdout
        server.stdin.write(json.dumps([str(job), str(out), processes]) + "\n")
        server.stdin.flush()
        self.pid = int(server.stdout.readline())
        self._errors, self._exit = out / f".errors-{self.pid}", out / f".exit-{self.pid}"
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and self._exit.exists():
            self.returncode = int(self._exit.read_text())
        return self.returncode

    def wait(self, timeout: float) -> int:
        until = time.monotonic() + timeout
        while self.poll() is None:
            assert time.monotonic() < until, f"no end within {timeout} s"
            time.sleep(0.01)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def communicate(self, timeout: float) -> tuple[None, bytes]:
        self.wait(timeout)
        return None, self._errors.read_bytes()


@cache
def _server() -> subprocess.Popen[str]:
    """Return the process that forks; it ends with this one, whose end of the pipe is then closed."""
    paths = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, __file__]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def serve() -> None:
    """Fork for each line until there are no more, and note how each process ends."""
    import torch

    from pretrain.parallel import processes

    processes.place_process()
    torch.set_num_threads(1)
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        del os.environ[name]  # each run finds a port of its own
    from pretrain.parallel.zero import import_deepspeed

    import_deepspeed(torch.device("cpu"))
    import torch.distributed.elastic.agent.server.local_elastic_agent

    import pretrain.train
    import pretrain.trainer  # noqa: F401

    running: dict[int, Path] = {}
    line = b""
    while True:
        ready, _, _ = select.select([0], [], [], 0.01)
        while running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            ended = running.pop(pid)
            ended.with_suffix(".tmp").write_text(str(os.waitstatus_to_exitcode(status)))
            ended.with_suffix(".tmp").rename(ended)
        if not ready:
            continue
        some = os.read(0, 1 << 16)
        if not some:
            return
        line += some
        if not line.endswith(b"\n"):
            continue
        job, out, count = json.loads(line)
        line = b""
        pid = os.fork()
        if not pid:
            _become(job, Path(out), count)
        running[pid] = Path(out) / f".exit-{pid}"
        print(pid, flush=True)


class _Rank:
    """What torchrun's agent takes for `subprocess.Popen`: a process that is forked and trains."""

    def __init__(self, args: tuple[str, ...], env: dict[str, str], **_: object) -> None:
        self.returncode: int | None = None
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            os.environ.update(env)
            _end(lambda: _train(args[-1]))

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float) -> None:
        until = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("", timeout)
            time.sleep(0.01)


def _train(job: str) -> int:
    from pretrain.train import main

    return main(job)


def _launch(job: str, processes: int) -> int:
    from torch.distributed.elastic.multiprocessing.subprocess_handler import subprocess_handler

    from pretrain.parallel.agent import launch

    subprocess_handler.Popen = _Rank  # type: ignore[assignment,misc]
    return launch([job], processes)


def _become(job: str, out: Path, processes: int) -> None:
    """Be the training process of a job, or its launcher."""

    def work() -> int:
        errors = os.open(out / f".errors-{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        nothing = os.open(os.devnull, os.O_RDWR)
        for old, new in ((nothing, 0), (nothing, 1), (errors, 2)):
            os.dup2(old, new)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if (patch := out / "sitecustomize.py").exists():
            exec(compile(patch.read_text(), str(patch), "exec"), {})
        return _train(job) if processes == 1 else _launch(job, processes)

    _end(work)


def _end(work: Callable[[], int]) -> None:
    """Do the work and end the process as an interpreter ends."""
    code = 1
    try:
        code = work()
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
