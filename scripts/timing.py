"""What the benchmarks share: processor time, medians, peak memory, the hardware, tables of figures and their bars."""

from __future__ import annotations

import multiprocessing
import os
import platform
import re
import resource
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

R = TypeVar("R")


@dataclass(frozen=True)
class Row:
    """One figure: what was measured, how much, and the least (or with `most` the most) it should be."""

    name: str
    value: float
    unit: str
    bar: float | None = None
    most: bool = False
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """Return whether the bar is reached; None without one."""
        if self.bar is None:
            return None
        return self.value <= self.bar if self.most else self.value >= self.bar


def print_rows(title: str, rows: list[Row]) -> None:
    """Print figures in aligned columns, each with its bar and whether it is reached."""
    print(f"\n{title}")
    for row in rows:
        bar = f"{'<=' if row.most else '>='} {_number(row.bar)}" if row.bar is not None else ""
        verdict = {None: "", True: "yes", False: "NO"}[row.reached]
        line = f"  {row.name:44} {_number(row.value):>12} {row.unit:14} {bar:>12} {verdict:4} {row.note}"
        print(line.rstrip(), flush=True)


def as_dicts(rows: list[Row]) -> list[dict[str, Any]]:
    """Return figures as JSON-like objects."""
    return [{**asdict(row), "reached": row.reached} for row in rows]


def _number(value: float) -> str:
    if value != value:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def median_seconds(work: Callable[[], object], repeat: int, limit: float | None = None) -> float:
    """Return the median processor seconds of this process over `repeat` runs of `work`.

    Raises:
        TimeoutError: a run took more than `limit` seconds of wall time.
    """
    times = []
    for _ in range(repeat):
        with time_limit(limit):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
    return statistics.median(times)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TimeoutError in the body after so many seconds of wall time; None is no limit."""

    def expire(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds or 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def in_fresh_process(work: Callable[..., R], *arguments: object) -> R:
    """Return what `work` returns for the arguments, all of them picklable, called in a process of its own."""
    return in_fresh_processes(1, work, *arguments)[0]


def in_fresh_processes(count: int, work: Callable[..., R], *arguments: object) -> list[R]:
    """Return what `work` returns in each of so many processes of its own, all of them at work at once."""
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        return [done.result() for done in [pool.submit(work, *arguments) for _ in range(count)]]


def cpu_seconds() -> float:
    """Return the processor seconds of this process and of the children it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class ChildrenPeak:
    """For a `with` block: the peak resident memory of each process started in it by this one or its children (Linux).

    It is the kernel's high-water mark of the process itself, asked for ten times a second until the process ends. The
    last answer counts: the mark only rises, but before its own program begins a process answers for its parent.
    """

    def __init__(self) -> None:
        self.peaks: dict[int, int] = {}
        self._earlier: set[int] = set()

    def __enter__(self) -> ChildrenPeak:
        self._look("self")
        self._earlier, self.peaks = set(self.peaks), {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(0.1):
            self._look("self")

    def _look(self, process: str) -> None:
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            try:
                found = children.read_text().split()
            except OSError:  # the thread has ended since
                continue
            for child in found:
                if int(child) not in self._earlier:
                    self.note(child)
                    self._look(child)

    def note(self, child: str) -> None:
        """Keep what a process holds at its most so far; what it held stays when it has ended."""
        if peak := peak_bytes(child):
            self.peaks[int(child)] = peak

    @property
    def largest(self) -> int:
        """Return the most any of the processes held, in bytes."""
        return max(self.peaks.values(), default=0)


def peak_bytes(process: int | str = "self") -> int:
    """Return the peak resident memory of a process in bytes; 0 when it is gone."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0
    return int(found.group(1)) * 1024 if found else 0


def hardware() -> str:
    """Return one line on the machine: processor, cores this process may use, memory, load, Python."""
    name = platform.processor() or platform.machine()
    memory = ""
    if Path("/proc/cpuinfo").exists():
        models = re.findall(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
        name = models[0] if models else name
        size = re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text())
        memory = f"{int(size.group(1)) / 1e6:.0f} GB memory, " if size else ""
    load = os.getloadavg()[0]
    return (
        f"{name}, {len(os.sched_getaffinity(0))} cores, {memory}"
        f"load {load:.1f} before the start, Python {platform.python_version()}"
    )
