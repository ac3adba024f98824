"""What the benchmarks share: medians, peak memory, the machine, another checkout, tables of figures and their bars."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from common.manifest import describe_outputs
from common.settings import settings_hash

R = TypeVar("R")
ROOT = Path(__file__).resolve().parents[1]


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
        if self.bar is None:
            return None
        return self.value <= self.bar if self.most else self.value >= self.bar


def parser_of(doc: str | None, json: bool = False) -> argparse.ArgumentParser:
    """Return a parser that prints a script's docstring as its help, with the option --json where that is asked for."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if json:
        parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    return parser


def print_rows(title: str, rows: list[Row]) -> list[Row]:
    """Print figures in aligned columns, each with its bar and whether it is reached; return them."""
    print(f"\n{title}")
    for row in rows:
        bar = f"{'<=' if row.most else '>='} {number(row.bar)}" if row.bar is not None else ""
        verdict = {None: "", True: "yes", False: "NO"}[row.reached]
        line = f"  {row.name:44} {number(row.value):>12} {row.unit:14} {bar:>12} {verdict:4} {row.note}"
        print(line.rstrip(), flush=True)
    return rows


def finish(rows: list[Row], as_json: bool) -> int:
    """Print figures as one JSON object where that is asked for; return 1 when a bar is not reached, else 0."""
    if as_json:
        print(json.dumps({"hardware": hardware(), "rows": as_dicts(rows)}, ensure_ascii=False))
    return int(any(row.reached is False for row in rows))


def as_dicts(rows: list[Row]) -> list[dict[str, Any]]:
    return [{**asdict(row), "reached": row.reached} for row in rows]


def number(value: float) -> str:
    """Return a figure in three digits, or whole from 1,000 on."""
    if value != value:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def median_seconds(work: Callable[[], object], repeat: int) -> float:
    """Return the median processor seconds of this process over `repeat` runs of `work`."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def beside(yardstick: Callable[[], object], work: Callable[[], object], repeat: int) -> tuple[float, float]:
    """Return the median processor seconds of `work`, and the median share of them that `yardstick` takes.

    Each run follows one of the yardstick: what slows the machine slows both.
    """
    rounds = [(median_seconds(yardstick, 1), median_seconds(work, 1)) for _ in range(repeat)]
    return statistics.median(taken for _, taken in rounds), statistics.median(short / taken for short, taken in rounds)


def in_fresh_processes(count: int, work: Callable[..., R], *arguments: object) -> list[R]:
    """Return what `work` returns in each of so many processes of its own, all of them at work at once."""
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        return [done.result() for done in [pool.submit(work, *arguments) for _ in range(count)]]


def printed_by(tree: Path, program: str, *arguments: str, before: Sequence[str] = ()) -> Any:
    """Return what a program prints as JSON in its last line, run by a tree's code and this Python.

    Args:
        before: a command that runs the command (strace).

    Raises:
        SystemExit: the program fails.
    """
    command = [*before, sys.executable, "-c", program, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"a program failed in {tree}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def in_turn(other: Path, run: Callable[[Path], R], rounds: int) -> tuple[list[R], list[R]]:
    """Return what `run` returns for this tree and for another, as often as there are rounds, each first in turn."""
    done: tuple[list[R], list[R]] = [], []
    for number in range(rounds):
        for place in (0, 1) if number % 2 == 0 else (1, 0):
            done[place].append(run((ROOT, other.resolve())[place]))
            print(f"  round {number + 1}, {('this', 'other')[place]}: {done[place][-1]}", flush=True)
    return done


class Measured(NamedTuple):
    """One run of a stage: seconds, peak memory of its process and of a worker, hash of every file it wrote."""

    wall: float
    cpu: float
    own_peak: int
    worker_peak: int
    hash: str
    start: float
    """Seconds of what came before it."""


def measured(
    work: Callable[..., object], *arguments: Any, out: Path | None = None, before: Callable[[], object] | None = None
) -> Measured:
    """Return what a stage took in a process of its own.

    Args:
        work: called with what is given, and the folder to write.
        out: the folder; None takes one that is thrown away.
        before: what is not counted.
    """
    begin = time.perf_counter()
    if before:
        before()
    start = time.perf_counter() - begin
    with tempfile.TemporaryDirectory() as spare, ChildrenPeak() as children:
        folder = out or Path(spare) / "out"
        folder.mkdir()
        begin, cpu = time.perf_counter(), cpu_seconds()
        work(*arguments, folder)
        wall, cpu = time.perf_counter() - begin, cpu_seconds() - cpu
        time.sleep(0.2)  # the last look at the workers
        return Measured(wall, cpu, peak_bytes(), children.largest, settings_hash(describe_outputs(folder)), start)


def cpu_seconds() -> float:
    """Return the processor seconds of this process and of the children it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


class ChildrenPeak:
    """For a `with` block: the peak resident memory of each process below this one (Linux). It is the kernel's
    high-water mark of the process itself, asked for ten times a second until the process ends. The last answer counts:
    the mark only rises, but before its own program begins a process answers for its parent."""

    def __init__(self) -> None:
        self.peaks: dict[str, int] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> ChildrenPeak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(0.1):
            self.note(children_of("self"))

    def note(self, processes: Iterable[str]) -> None:
        """Keep what processes hold at their most so far; what one held stays when it has ended."""
        self.peaks |= {process: peak for process in processes if (peak := peak_bytes(process))}

    @property
    def largest(self) -> int:
        """Return the most any of the processes held, in bytes."""
        return max(self.peaks.values(), default=0)


def children_of(process: str) -> Iterator[str]:
    """Yield the processes below one, at any depth (Linux)."""
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            processes = children.read_text().split()
        except OSError:  # the thread has ended since
            continue
        for child in processes:
            yield child
            yield from children_of(child)


def peak_bytes(process: int | str = "self") -> int:
    """Return the peak resident memory of a process in bytes; 0 when it is gone."""
    try:
        match = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text(encoding="utf-8"))
    except OSError:
        return 0
    return int(match.group(1)) * 1024 if match else 0


def hardware() -> str:
    """Return one line on the machine: processor, cores this process may use, load, Python."""
    name = platform.processor() or platform.machine()
    facts = Path("/proc/cpuinfo")
    models = re.findall(r"model name\s*:\s*(.+)", facts.read_text(encoding="utf-8")) if facts.exists() else []
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    return f"{[*models, name][0]}, {cores} cores, load {load:.1f} before the start, Python {platform.python_version()}"
