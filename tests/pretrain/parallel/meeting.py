"""Processes that meet on this machine, each with an environment of its own."""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def free_port() -> int:
    """Return a port at which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def meet(program: str, own: Sequence[dict[str, Any]], folder: Path | None = None) -> tuple[list[int], list[str]]:
    """Start a process for each of these variables, and return exit codes and what they print."""
    port, started = free_port(), []
    for rank, variables in enumerate(own):
        place = {"RANK": rank, "WORLD_SIZE": len(own), "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": len(own)}
        place |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": 1, **variables}
        environment = {**os.environ, **{name: str(value) for name, value in place.items()}}
        command = [sys.executable, "-c", program]
        started.append(subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True))
    try:
        said = [process.communicate(timeout=120)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    return [process.returncode for process in started], said
