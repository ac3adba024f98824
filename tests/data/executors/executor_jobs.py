"""Functions for workers: they import this module by name, as they cannot do with a test module."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from common.errors import DiskFullError, UserError


@dataclass(frozen=True)
class Number:
    value: int

    @property
    def name(self) -> str:
        return f"number {self.value}"


def square(task: Number) -> int:
    return task.value**2


def process_id(task: Number) -> int:
    return os.getpid()


def working_folder(task: Number) -> str:
    return str(Path.cwd())


def full(task: Number) -> int:
    if task.value == 3:
        raise DiskFullError("the disk is full", "rule", "fix")
    return task.value


def broken(task: Number) -> int:
    if task.value == 1:
        raise ValueError("private words")
    return task.value


def in_vain(task: Number) -> int:
    raise UserError("no table: units", "rule", "fix")


def misused(task: Number) -> int:
    if task.value % 3 == 1:
        raise UserError(f"bad {task.value}", "rule", "fix")
    return task.value


def die_once(folder: Path, task: Number) -> int:
    if task.value == 2 and not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return task.value


def die_always(task: Number) -> int:
    if task.value == 2:
        os._exit(9)
    return task.value


def sleep(folder: Path, task: Number) -> int:
    (folder / f"{os.getpid()}.pid").touch()
    time.sleep(60)
    return task.value


def large(data: bytes, task: Number) -> int:
    return len(data) + task.value


def stand_in(job: str) -> None:
    """Do as the job says."""
    print(f"says {job}", os.environ["OMP_NUM_THREADS"], flush=True)
    if job == "broken":
        raise ValueError("a fault of the code")
    if job == "wrong":
        raise UserError("too hot", "cool", "wait")
    if job == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if job == "endless":
        time.sleep(600)


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, a minute at most."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")  # a zombie nobody has waited for yet has ended too
    return not (state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z")
