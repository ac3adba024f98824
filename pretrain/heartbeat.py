"""Heartbeat: a small file in a run's logs that says how far it is, and which processes it waits for.

Rank 0 replaces it every few seconds, in a thread of its own: a file system that hangs holds up nothing else. A file
that grows old means that rank 0 itself, or its file system, stands still.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pretrain.signs import read_sign

HEARTBEAT = "heartbeat.json"
"""File in the logs of a run of several processes."""
EVERY_SECONDS = 10.0
"""Between two versions of the file."""
MOST = 16
"""Hosts in the file at most, and ranks of each: one glance, however many are late."""


class Heartbeat:
    """Writes the file until it is told how the run has ended; a disk that is full ends nothing.

    Args:
        path: of the file.
        steps: of the whole run.
        interval: seconds between two signs of a process.
    """

    def __init__(self, path: Path, steps: int, interval: float) -> None:
        self._path, self._steps, self._interval = path, steps, interval
        self._signs: Sequence[bytes] = []
        self._silent: Sequence[float] = []
        self._step, self._moved, self._written = -1, time.monotonic(), float("-inf")
        self._end: dict[str, str] = {}
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._write, name="heartbeat", daemon=True)
        self._thread.start()

    def look(self, signs: Sequence[bytes], silent: Sequence[float], step: int) -> None:
        """Take note of what rank 0 sees at a heartbeat.

        Args:
            signs: of all processes, by rank.
            silent: seconds since each of them was new.
            step: of rank 0.
        """
        now = time.monotonic()
        if step != self._step:
            self._step, self._moved = step, now
        self._signs, self._silent = tuple(signs), tuple(silent)
        if now - self._written >= EVERY_SECONDS:
            self._written = now
            self._wake.set()

    def finish(self, state: str, step: int, failure: str = "") -> None:
        """Write the last version, and wait for it for a second at most.

        Args:
            state: "ended" or "failed".
            step: of rank 0.
            failure: what has failed.
        """
        self._step = step
        self._end = {"state": state, **({"failure": failure} if failure else {})}
        self._wake.set()
        self._thread.join(1)

    def _write(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            end = self._end
            still = time.monotonic() - self._moved
            content = {
                "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
                "state": "running",
                **end,
                "steps": self._steps,
                **report(self._signs, self._silent, self._step, still, self._interval),
            }
            with suppress(OSError):
                fresh = self._path.with_name(f".{self._path.name}.tmp")
                fresh.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
                fresh.replace(self._path)
            if end:
                return


def report(signs: Sequence[bytes], silent: Sequence[float], step: int, still: float, interval: float) -> dict[str, Any]:
    """Return the furthest step, and the processes that are late: silent, or behind in a step that does not end.

    Signs are up to `interval` seconds old, and steps may be shorter: only where rank 0 stands still does a smaller
    number of steps mean that a process is behind.

    Args:
        signs: of all processes, by rank.
        silent: seconds since each of them was new.
        step: of rank 0, now.
        still: seconds since rank 0 has come further.
        interval: seconds between two signs of a process.
    """
    read = [read_sign(sign) for sign in signs]
    furthest = max(step, *(sign.step for sign in read), 0)
    hosts: dict[str, dict[str, Any]] = {}
    count = 0
    for rank, sign in enumerate(read):
        behind = sign.step < furthest and still > 2 * interval
        if sign.leaves or not (behind or silent[rank] > 3 * interval):
            continue
        count += 1
        new = {"host": sign.host, "processes": 0, "ranks": [], "step": sign.step, "silent_seconds": 0.0}
        entry = hosts.setdefault(sign.host, new)
        entry["processes"] += 1
        entry["ranks"] += [rank] if len(entry["ranks"]) < MOST else []
        entry["step"] = min(entry["step"], sign.step)
        entry["silent_seconds"] = max(entry["silent_seconds"], round(silent[rank], 1))
    worst = sorted(hosts.values(), key=lambda entry: (-entry["silent_seconds"], entry["step"]))
    return {
        "step": furthest,
        "seconds_in_step": round(still, 1),
        "processes": len(read),
        "late_processes": count,
        "late": worst[:MOST],
    }
