"""Running the probes: all at once, each in a process of its own and with a time limit of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hunmin.doctor import probes

SECONDS = {"network": 6.0, "mecab": 20.0, "triton": 10.0}
"""A probe's time limit; an import of torch takes long from a cold network disk."""
OTHERWISE = 60.0

Answer = dict[str, Any]
"""{"found": what a probe returned} or {"error": why it did not}."""


def ask(names: Iterable[str], seconds: Mapping[str, float] = SECONDS) -> dict[str, Answer]:
    """Return the answers of probes by their names; those that need not be asked are not started.

    Args:
        names: of `probes.PROBES`.
        seconds: probe → time limit; `OTHERWISE` for those that it lacks.
    """
    chosen = list(names)
    with ThreadPoolExecutor(max(1, len(chosen))) as pool:
        return dict(zip(chosen, pool.map(lambda name: _one(name, seconds.get(name, OTHERWISE)), chosen), strict=True))


def _one(name: str, seconds: float) -> Answer:
    command = [sys.executable, str(Path(probes.__file__)), name]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {seconds:g} s"}
    try:
        answer: Answer = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["it says nothing"])[-1]
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        return {"error": f"the process ended with {how}: {last}"}
    return answer
