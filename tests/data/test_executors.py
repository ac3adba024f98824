"""The local executor: order, errors, workers that die."""

import functools
import os
import signal
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
