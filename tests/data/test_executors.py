"""The local executor: order, errors, workers that die."""

import functools
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from common.errors import DiskFullError, HunminError
from data.executors import available_workers, run_local


@dataclass(frozen=True)
class Number:
    value: int

    @property
    def name(self) -> str:
        return f"number {self.value}"


def square(task: Number) -> int:
    return task.value**2


def full(task: Number) -> int:
    if task.value == 3:
        raise DiskFullError("the disk is full", "rule", "remedy")
    return task.value


def broken(task: Number) -> int:
    return 1 // (task.value - 1)


def die_once(folder: Path, task: Number) -> int:
    if task.value == 2 and not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return task.value


def die_always(task: Number) -> int:
    if task.value == 2:
        os._exit(9)
    return task.value


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_tasks(workers):
    seen: list[int] = []
    tasks = [Number(n) for n in range(20)]
    assert run_local(square, tasks, workers, seen.append) == [n * n for n in range(20)]
    assert sorted(seen) == [n * n for n in range(20)]


@pytest.mark.parametrize("workers", [1, 2])
def test_tasks_are_drawn_lazily_and_may_be_none(workers):
    assert run_local(square, iter([]), workers) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_keep_their_parts(workers):
    with pytest.raises(DiskFullError) as caught:
        run_local(full, [Number(n) for n in range(6)], workers)
    assert (caught.value.rule, caught.value.remedy) == ("rule", "remedy")


def test_a_programming_error_names_the_unit():
    with pytest.raises(RuntimeError, match="number 1 failed"):
        run_local(broken, [Number(n) for n in range(1, 3)], 2)


def test_a_worker_that_dies_is_replaced_and_its_task_done_again(tmp_path):
    assert run_local(functools.partial(die_once, tmp_path), [Number(n) for n in range(6)], 2) == list(range(6))


def test_a_task_that_kills_two_workers_is_reported():
    with pytest.raises(HunminError, match="died 2 times on number 2"):
        run_local(die_always, [Number(n) for n in range(6)], 2)


def test_available_workers():
    assert available_workers() >= 1


def sleep(folder: Path, task: Number) -> int:
    (folder / f"{os.getpid()}.pid").touch()
    time.sleep(60)
    return task.value


def test_workers_end_with_a_killed_parent(tmp_path):
    program = (
        "import sys, functools; from pathlib import Path; sys.path[:0] = sys.argv[2:]\n"
        "from test_executors import Number, sleep\nfrom data.executors import run_local\n"
        "if __name__ == '__main__':\n"
        "    run_local(functools.partial(sleep, Path(sys.argv[1])), [Number(1), Number(2)], 2)\n"
    )
    (tmp_path / "program.py").write_text(program)
    here = Path(__file__).resolve()
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path), str(here.parent), str(here.parents[2])]
    parent = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    until(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
    parent.kill()
    parent.wait()
    workers = [int(file.stem) for file in tmp_path.glob("*.pid")]
    until(lambda: not any(map(alive, workers)))
    assert len(workers) == 2


def until(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")  # a zombie nobody has waited for yet has ended too
    return not (state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z")
