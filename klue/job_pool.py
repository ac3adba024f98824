"""The runner's side of the job server: start it, hand it jobs, hear which have ended, end it with all its jobs."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from common.errors import HunminError

GRACE = 5.0
"""Seconds that the server gets to end before it is killed."""


class JobPool:
    """Runs jobs, each in its own process, for a `with` block; whatever still runs at its end is killed.

    Args:
        model: folder of the model that the jobs fine-tune.
        threads: CPU threads a job computes with.
        log: file for what the server itself prints.
    """

    def __init__(self, model: Path, threads: int, log: Path) -> None:
        self._model, self._threads, self._log = model, threads, log
        self._pending = b""

    def __enter__(self) -> JobPool:
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": str(self._threads),
            "MKL_NUM_THREADS": str(self._threads),
            "TOKENIZERS_PARALLELISM": "false",
            "HF_HUB_OFFLINE": "1",
            "HUNMIN_JOB_SERVER_PARENT": str(os.getpid()),
        }
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "klue.job_server", str(self._model.resolve())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                # so that `klue` is this very package, whatever lies in the caller's folder
                cwd=Path(__file__).parents[__name__.count(".")],
                # Ctrl-C goes to the runner alone, which then ends the group
                start_new_session=True,
            )
        return self

    def start(self, job: Path, log: Path) -> None:
        """Start the job described in a file, with its output in a log file."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"job": str(job), "log": str(log)}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._died() from None

    def ended(self, wait: float) -> list[tuple[Path, int]]:
        """Return (job file, exit code) of the jobs that have ended since; a negative code is the signal that killed.

        Args:
            wait: seconds to wait at most for one to end.

        Raises:
            HunminError: the server itself has died.
        """
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], wait)
        if not readable:
            return []
        data = os.read(self._process.stdout.fileno(), 1 << 16)
        if not data:
            raise self._died()
        *lines, self._pending = (self._pending + data).split(b"\n")
        answers = [json.loads(line) for line in lines]
        return [(Path(answer["job"]), answer["code"]) for answer in answers]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe:
                    pipe.close()

    def _died(self) -> HunminError:
        tail = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-10:]
        return HunminError(
            "the process that starts fine-tuning jobs has died\n" + "\n".join(f"  | {line}" for line in tail),
            "it lives as long as there are jobs",
            "run the same command again: finished jobs are kept",
        )
