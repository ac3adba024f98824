"""The local executor: order, failures that are reported at the end, workers that die or outlive their parent."""

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from common.errors import DiskFullError, HunminError
from data.executors import WorkFailed, available_workers, run_local
from data.executors.failures import MOST_FAILURES
from data.executors.local import LocalPool

sys.path.insert(0, str(Path(__file__).parent))
from executor_jobs import (
    SLOW_SECONDS,
    Number,
    broken,
    die_always,
    die_once,
    fail,
    full,
    leave,
    misused,
    prepare,
    process_id,
    sized,
    slow_second_start,
    square,
)


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_tasks(workers):
    seen: list[int] = []
    tasks = [Number(n) for n in range(20)]
    assert run_local(square, tasks, seen.append, workers=workers) == [n * n for n in range(20)]
    assert sorted(seen) == [n * n for n in range(20)]


@pytest.mark.parametrize("workers", [1, 2])
def test_there_may_be_no_task(workers):
    assert run_local(square, iter([]), workers=workers) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_keep_their_parts(workers):
    with pytest.raises(DiskFullError) as caught:
        run_local(full, [Number(n) for n in range(6)], workers=workers)
    assert (caught.value.rule, caught.value.remedy) == ("rule", "remedy")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_programming_error_names_the_unit_but_not_the_text_and_the_others_are_done(workers, capsys):
    seen: list[int] = []
    with pytest.raises(WorkFailed) as caught:
        run_local(broken, [Number(n) for n in range(6)], seen.append, workers=workers)
    assert sorted(seen) == [0, 2, 3, 4, 5]
    assert "number 1: ValueError" in str(caught.value) and "in broken" in str(caught.value)
    assert "private words" not in str(caught.value) + capsys.readouterr().err


@pytest.mark.parametrize("workers", [1, 2])
def test_every_failure_is_named_and_users_mistakes_exit_with_2(workers):
    with pytest.raises(WorkFailed, match="2 work units failed") as caught:
        run_local(misused, [Number(n) for n in range(6)], workers=workers)
    assert "number 1: bad 1" in str(caught.value) and "number 4: bad 4" in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_fault_in_every_unit_stops_the_run(capsys):
    seen: list[int] = []

    def numbers():
        for n in range(10_000):
            seen.append(n)
            yield Number(3 * n + 1)

    with pytest.raises(WorkFailed, match=f"{MOST_FAILURES} work units failed"):
        run_local(misused, numbers(), workers=1)
    assert len(seen) == MOST_FAILURES


def test_a_worker_that_dies_is_replaced_and_its_task_done_again(tmp_path):
    assert run_local(functools.partial(die_once, tmp_path), [Number(n) for n in range(6)], workers=2) == list(range(6))


def test_a_task_that_kills_its_workers_is_reported_after_the_others_are_done():
    seen: list[int] = []
    with pytest.raises(WorkFailed, match="number 2: a worker died 3 times on it \\(exit code 9"):
        run_local(die_always, [Number(n) for n in range(6)], seen.append, workers=2)
    assert sorted(seen) == [0, 1, 3, 4, 5]


def test_a_pool_keeps_its_workers_from_call_to_call(tmp_path):
    tasks = [Number(n) for n in range(6)]
    with LocalPool(2, functools.partial(prepare, tmp_path)) as pool:
        until(lambda: len(list(tmp_path.iterdir())) == 2)
        assert pool(square, tasks) == [n * n for n in range(6)]
        first = set(pool(process_id, tasks))
        assert pool(square, tasks) == [n * n for n in range(6)]
        assert set(pool(process_id, tasks)) <= {int(path.name) for path in tmp_path.iterdir()}
    assert len(first) <= 2 and len(list(tmp_path.iterdir())) == 2
    until(lambda: not any(map(alive, first)))


def test_workers_prepare_before_there_is_a_task(tmp_path):
    with LocalPool(2, functools.partial(prepare, tmp_path)):
        until(lambda: len(list(tmp_path.iterdir())) == 2)
        assert all(alive(int(path.name)) for path in tmp_path.iterdir())
    assert not any(alive(int(path.name)) for path in tmp_path.iterdir())


def test_a_preparation_that_fails_is_left_to_the_tasks():
    with LocalPool(2, fail) as pool:
        assert pool(square, [Number(3)]) == [9]


def test_ready_workers_do_not_wait_for_one_that_starts(tmp_path):
    """Nothing is sent to a worker before it is ready: a large function would hold up the parent, and so all others."""
    began = time.monotonic()
    with LocalPool(3, functools.partial(slow_second_start, tmp_path)) as pool:
        until(lambda: (tmp_path / "slow").exists())
        results = pool(functools.partial(sized, b"x" * 5_000_000), [Number(n) for n in range(6)])
        assert time.monotonic() - began < SLOW_SECONDS
    assert results == list(range(6))


def test_workers_that_die_as_they_start_are_an_error():
    with (
        pytest.raises(HunminError, match="3 workers died as they started \\(exit code 7\\)"),
        LocalPool(2, leave) as pool,
    ):
        pool(square, [Number(1)])


def test_a_ctrl_c_while_workers_start_shows_no_traceback(tmp_path):
    program = (
        "import sys, time; sys.path[:0] = sys.argv[1:]\n"
        "from executor_jobs import linger\nfrom data.executors.local import LocalPool\n"
        "if __name__ == '__main__':\n"
        "    with LocalPool(2, linger):\n"
        "        print('started', flush=True)\n"
        "        time.sleep(60)\n"
    )
    (tmp_path / "program.py").write_text(program)
    here = Path(__file__).resolve()
    command = [sys.executable, str(tmp_path / "program.py"), str(here.parent), str(here.parents[3])]
    parent = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True
    )
    assert parent.stdout and parent.stdout.readline() == "started\n"
    os.killpg(parent.pid, signal.SIGINT)
    errors = parent.communicate(timeout=30)[1]
    assert errors.count("Traceback") == 1 and "program.py" in errors  # the program's own


def test_a_pool_serves_on_after_a_call_that_was_broken_off(tmp_path):
    def interrupt(value):
        raise KeyboardInterrupt

    with LocalPool(2) as pool:
        with pytest.raises(KeyboardInterrupt):
            pool(square, [Number(n) for n in range(6)], interrupt)
        with pytest.raises(DiskFullError):
            pool(full, [Number(n) for n in range(6)])
        assert pool(square, [Number(n) for n in range(6)]) == [n * n for n in range(6)]


def test_available_workers():
    assert available_workers() >= 1


def test_workers_end_with_a_killed_parent(tmp_path):
    program = (
        "import sys, functools; from pathlib import Path; sys.path[:0] = sys.argv[2:]\n"
        "from executor_jobs import Number, sleep\nfrom data.executors import run_local\n"
        "if __name__ == '__main__':\n"
        "    run_local(functools.partial(sleep, Path(sys.argv[1])), [Number(1), Number(2)], workers=2)\n"
    )
    (tmp_path / "program.py").write_text(program)
    here = Path(__file__).resolve()
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path), str(here.parent), str(here.parents[3])]
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
