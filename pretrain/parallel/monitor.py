"""Failure monitor: each process of a run learns within seconds which one failed, and which steps all have reached.

torchrun ends the processes of a machine when one fails, and the process group's timeout ends a collective that hangs.
Neither tells all processes what failed, or who was silent. Every process therefore writes a heartbeat into torch's
key-value store every few seconds and reads failures there; rank 0 looks for missing heartbeats, and keeps a file of
late processes.

The keys of the store:
    sign/RANK     "COUNT STEP": a new count at every heartbeat, `LEFT` once the process has ended in order
    failed        the first failure, as JSON: its rank, a text, the exit code that all processes end with, its kind
    gone          how many processes have ended in order, or know of the failure
"""

from __future__ import annotations

import atexit
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from common.errors import EXIT_FAILED, HunminError
from common.progress import say
from common.secrets import masked, masked_tree

HEARTBEAT = "heartbeat.json"
"""File in the logs of a run of several processes."""
INTERVAL = 2.0
"""Seconds between two heartbeats."""
SILENT = 22
"""Heartbeats without a sign after which a process has failed: not seconds, so that a suspended job continues."""
LATE = 3
"""Heartbeats without a sign after which a process is late; as many make it failed once a collective has raised."""
WRITE_EVERY = 5
"""Heartbeats between two writes of the file."""
GRACE = 5.0
"""Seconds that a process has to end by itself once it knows of a failure."""
MOST = 16
"""Hosts in the file at most, and ranks of each, so that it stays short."""
LONGEST = 3000
"""Characters of an error's text sent to the others; those of collectives carry pages of stack."""
LEFT = -1
SILENT_KIND = "silent"
ABSENT_KIND = "absent"
CLOSED_KIND = "closed"
"""Kinds of failures that others report for a process; else a kind is the name of the error's class."""


class Monitor:
    """A process's link to the others: a context manager that reports its error. Without `connect` it does nothing."""

    def __init__(self, rank: int, hosts: Sequence[str], connect: Callable[[], Any] | None = None) -> None:
        self.rank = rank
        self.hosts = hosts
        self.world = len(hosts)
        self.store: Any = connect and connect()  # of the main thread: a call holds it until the answer has come
        self._own: Any = connect and connect()
        self._progress: Callable[[], int] = lambda: 0
        self._code = EXIT_FAILED
        self._failed: dict[str, Any] = {}  # of the run's failure what the file says beside its text
        self._keys = [f"sign/{rank}" for rank in range(self.world)]
        self._signs = ["0 0"] * self.world
        self._silent = [0] * self.world
        self._patience = SILENT
        self._count = 0
        self._step = 0
        self._steps = 0
        self._still = 0
        self._unanswered = 0
        self._report = Path()
        self._writer = threading.Thread()
        self._stop = threading.Event()
        self._failure_known = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._watch, self._watch_answers)]
        if connect:
            self._sign(self.store)

    def start(self) -> None:
        """Start heartbeats and the look-out for failures, once every process has made its monitor."""
        for thread in self._threads:
            thread.start()
        # a daemon thread that is inside the store's C++ while the interpreter goes down aborts the process
        atexit.register(self._stop_threads)

    def follow(self, progress: Callable[[], int]) -> None:
        """Add to heartbeats the steps of which this process has done its part; a thread calls `progress`."""
        self._progress = progress

    @contextmanager
    def reporting(self, path: Path, steps: int) -> Iterator[None]:
        """Write the file of late processes on rank 0 during the body; none in a run of one process."""
        self._report = path if self.rank == 0 and self.world > 1 else Path()
        self._steps = steps
        yield  # of an error that leaves the body `fail` learns the cause
        self._write("ended")
        self._report = Path()

    def fail(self, error: BaseException) -> bool:
        """Report the failure of this process, and return whether another one caused it; never raises.

        A collective raises where the process at its other end has gone or does not come: that one is named.
        """
        if self.world == 1 or self._stop.is_set():
            return False
        named = self.rank
        first = self.rank
        broken = isinstance(error, RuntimeError)
        text = str(error) if isinstance(error, HunminError) else f"{type(error).__name__}: {error}".removesuffix(": ")
        event = f"failed: {text}"
        kind = type(error).__name__
        self._patience = LATE if broken else SILENT
        if self._failure_known.wait((LATE + 2) * INTERVAL if broken else 0):
            return True
        with suppress(Exception):
            steps = [int(sign.split()[1]) for sign in self.store.multi_get(self._keys)]
            if broken and steps[self.rank] > min(steps):
                named = steps.index(min(steps))
                kind = ABSENT_KIND
                event = f"did not come, last seen at step {min(steps)} where others wait at {max(steps)}: {text}"
            self._failure_known.set()
            code = getattr(error, "exit_code", EXIT_FAILED)
            first, text = self._learn(self._announce(self.store, named, event, code, kind))
            self._tell(self.store, text if first != self.rank else "", text)
        return first != self.rank

    def close(self) -> None:
        """End in order: this process is no longer expected to write heartbeats."""
        if self.world == 1 or self._stop.is_set():
            return
        self._stop_threads()
        self._count = LEFT - 1
        with suppress(Exception):  # who has ended in order does not care what became of the store
            self._sign(self.store)
            self._leave(self.store)

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None:
            self.close()
        elif self.fail(error) and isinstance(error, RuntimeError):
            raise SystemExit(self._code) from None  # the cause is said: this error only follows from it

    def look(self) -> str:
        """Write a heartbeat and read the others'; return the run's failure, "" where there is none."""
        store = self._own
        self._sign(store)
        latest = [sign.decode() for sign in store.multi_get(self._keys if self.rank == 0 else self._keys[:1])]
        for rank, sign in enumerate(latest):
            same = sign == self._signs[rank] and not sign.startswith(f"{LEFT} ")
            self._silent[rank] = self._silent[rank] + 1 if same else 0
            self._signs[rank] = sign
            if self._silent[rank] > self._patience:
                seen = f"for {INTERVAL * self._silent[rank]:g} s, last seen at step {sign.split()[1]}"
                self._announce(store, rank, f"gave no sign of life {seen}", EXIT_FAILED, SILENT_KIND)
        step = self._progress()
        self._still = self._still + 1 if step == self._step else 0
        self._step = step
        if self._count % WRITE_EVERY == 0 and not self._writer.is_alive():
            self._writer = threading.Thread(target=self._write, daemon=True)  # a disk that hangs holds up no heartbeat
            self._writer.start()
        return self._learn(json.loads(store.get("failed")))[1] if store.check(["failed"]) else ""

    def _sign(self, store: Any) -> None:
        self._count += 1
        store.set(f"sign/{self.rank}", f"{self._count} {self._progress()}")

    def _learn(self, failed: list[Any]) -> tuple[int, str]:
        """Return the rank and the text of the run's failure, and store its exit code and kind."""
        rank, text, self._code, kind = failed
        self._failed = {"failed_rank": rank, "failure_kind": kind}
        return rank, text

    def _announce(self, store: Any, rank: int, event: str, code: int, kind: str) -> list[Any]:
        """Return the first failure of the run, which is this one where there was none."""
        failed = json.dumps([rank, f"rank {rank} on {self.hosts[rank]} {event}"[:LONGEST], code, kind])
        return json.loads(store.compare_set("failed", "", failed))  # type: ignore[no-any-return]

    def _watch(self) -> None:
        failure = ""
        try:
            while not failure and not self._stop.wait(INTERVAL):
                failure = self.look()
                self._unanswered = 0
        except Exception:
            text = f"rank 0 on {self.hosts[0]} is gone: its connection has closed"
            _, failure = self._learn([0, text, EXIT_FAILED, CLOSED_KIND])
        if failure and not self._stop.is_set():
            self._end(failure)

    def _watch_answers(self) -> None:
        """End this process when the store does not answer: a call to a stopped process or a lost node never returns."""
        while not self._stop.wait(INTERVAL) and not self._failure_known.is_set():
            self._unanswered += 1
            if self._unanswered > SILENT:
                self._own = None
                text = f"rank 0 on {self.hosts[0]} gave no sign of life for {INTERVAL * SILENT:g} s"
                self._end(self._learn([0, text, EXIT_FAILED, SILENT_KIND])[1])

    def _end(self, failure: str) -> None:
        """End this process because of a failure, by force if it does not end by itself."""
        if not self._failure_known.is_set():
            self._failure_known.set()
            self._tell(self._own, failure, failure)
        if not self._stop.wait(GRACE):
            os._exit(self._code)

    def _tell(self, store: Any, said: str, failure: str) -> None:
        """Print why this process ends ("": its own error is printed elsewhere), and write it into the file."""
        with suppress(Exception):  # a closed stderr, or no store that answers
            if said:
                say(f"rank {self.rank} ends: {said}", style="red")
            self._write("failed", failure)
            self._leave(store)

    def _leave(self, store: Any) -> None:
        """Count this process as gone; rank 0 waits some seconds for the others: the store goes with its process."""
        gone, until = store.add("gone", 1), time.monotonic() + GRACE
        while self.rank == 0 and gone < self.world and time.monotonic() < until:
            time.sleep(0.05)
            gone = store.add("gone", 0)

    def _stop_threads(self) -> None:
        self._stop.set()
        if self._threads[0].is_alive():
            self._threads[0].join(2 * INTERVAL)  # no longer: the store may never answer
        atexit.unregister(self._stop_threads)

    def _write(self, state: str = "running", failure: str = "") -> None:
        """Write the file anew; a full disk is no failure."""
        if not self._report.name:
            return
        now = {"time": datetime.now(timezone.utc).isoformat(timespec="seconds"), "state": state, "steps": self._steps}
        late = report(self.hosts, self._signs, self._silent, self._progress(), self._still)
        with suppress(OSError):
            fresh = self._report.with_name(f".{self._report.name}.tmp")
            content = masked_tree({**now, **({"failure": masked(failure), **self._failed} if failure else {}), **late})
            fresh.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
            fresh.replace(self._report)


def report(hosts: Sequence[str], signs: Sequence[str], silent: Sequence[int], step: int, still: int) -> dict[str, Any]:
    """Return the furthest step, and the processes that are late: silent, or behind in a step that does not end.

    Signs are up to a heartbeat old: only where rank 0 stands still does a smaller step mean that a process is behind.
    `silent` and `still` are heartbeats since a process's sign was new, and since rank 0 has come further.
    """
    read = [[int(number) for number in sign.split()] for sign in signs]
    furthest = max([step, *(done for _, done in read)])
    late = dict[str, dict[str, Any]]()
    for rank, (count, done) in enumerate(read):
        if count != LEFT and (silent[rank] > LATE or (done < furthest and still > 1)):
            new = {"host": hosts[rank], "processes": 0, "ranks": [], "step": done, "silent_seconds": 0.0}
            entry = late.setdefault(hosts[rank], new)
            entry["processes"] += 1
            entry["ranks"] += [rank] if len(entry["ranks"]) < MOST else []
            entry["step"] = min(entry["step"], done)
            entry["silent_seconds"] = max(entry["silent_seconds"], INTERVAL * silent[rank])
    worst = sorted(late.values(), key=lambda entry: (-entry["silent_seconds"], entry["step"]))
    many = {"processes": len(read), "late_processes": sum(entry["processes"] for entry in worst)}
    return {"step": furthest, "seconds_in_step": INTERVAL * still, **many, "late": worst[:MOST]}
