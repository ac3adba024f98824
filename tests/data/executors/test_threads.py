"""Threads as workers: order, several at once, failures that are reported at the end."""

import sys
import threading
from pathlib import Path

import pytest

from common.errors import DiskFullError
from data.executors import WorkFailed, open_executor
from data.executors.failures import Failures
from data.executors.threads import ThreadPool

sys.path.insert(0, str(Path(__file__).parent))
from executor_jobs import Number, broken, full, misused, square


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_the_order_of_the_tasks(workers: int, tmp_path: Path) -> None:
    seen: list[int] = []
    with open_executor("local", workers, "", tmp_path, threads=True) as execute:
        assert execute(square, map(Number, range(20)), seen.append) == [n * n for n in range(20)]
        assert execute(square, iter([])) == []
    assert sorted(seen) == [n * n for n in range(20)]


def test_so_many_work_at_once_and_no_more_is_drawn() -> None:
    together, drawn = threading.Barrier(3, timeout=30), []

    def numbers():
        for n in range(6):
            drawn.append(n)
            yield Number(n)

    def meet(task: Number) -> int:
        ahead = len(drawn)
        together.wait()  # broken, and so a failure, unless three are here
        return ahead

    assert max(ThreadPool(3)(meet, numbers())[:3]) <= 3


def test_failures_are_reported_when_the_others_are_done() -> None:
    seen: list[int] = []
    with pytest.raises(WorkFailed, match="number 1: ValueError"):
        ThreadPool(2)(broken, map(Number, range(6)), seen.append)
    assert sorted(seen) == [0, 2, 3, 4, 5]
    failures = Failures()
    ThreadPool(2)(misused, map(Number, range(6)), None, failures)
    assert sorted(failure.name for failure in failures) == ["number 1", "number 4"]


def test_a_full_disk_ends_the_call_at_once() -> None:
    drawn: list[int] = []

    def numbers():
        for n in range(100):
            drawn.append(n)
            yield Number(n)

    with pytest.raises(DiskFullError):
        ThreadPool(2)(full, numbers())
    assert len(drawn) < 10
