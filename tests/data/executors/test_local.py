"""The local executor: order, failures that are reported at the end, workers that die or outlive their parent."""

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from common.errors import DiskFullError
from common.process import available_cores
from data.executors import WorkFailed, run_local
from data.executors.failures import MOST_FAILURES
from data.executors.local import LocalPool

sys.path.insert(0, str(Path(__file__).parent))
from executor_jobs import (
    Number,
    broken,
    die_always,
    die_once,
    full,
    in_vain,
    misused,
    process_id,
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


def test_one_reason_of_many_failures_is_told_once(capsys):
    with pytest.raises(WorkFailed, match="9 work units failed") as caught:
        run_local(in_vain, [Number(n) for n in range(9)], workers=1)
    said = capsys.readouterr().err
    assert said.count("no table: units") == 1 and "number 8: likewise" in said
    message = str(caught.value)
    assert message.count("no table: units") == 1
    assert "likewise: number 1, number 2, number 3, number 4, number 5 and 3 more" in message


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


def test_a_pool_keeps_its_workers_from_call_to_call():
    tasks = [Number(n) for n in range(6)]
    with LocalPool(2) as pool:
        first = set(pool(process_id, tasks))
        assert pool(square, tasks) == [n * n for n in range(6)]
        second = set(pool(process_id, tasks))
    assert 1 <= len(first | second) <= 2 and os.getpid() not in first
    until(lambda: not any(map(alive, first | second)))


def test_what_is_preloaded_is_imported_once_and_before_there_is_a_task(tmp_path):
    (tmp_path / "slow_module.py").write_text(
        "import os, pathlib\npathlib.Path(__file__).with_name(f'{os.getpid()}.import').touch()\n"
        "def work(task):\n    return task.value\n"
    )
    body = (
        "    with LocalPool(2, preload='slow_module') as pool:\n"
        "        while not list(Path(sys.argv[1]).glob('*.import')): time.sleep(.05)\n"
        "        import slow_module\n"
        "        print(pool(slow_module.work, [Number(n) for n in range(4)]))\n"
    )
    found = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(program(tmp_path, body), env=found, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[0, 1, 2, 3]\n", "")
    assert len(list(tmp_path.glob("*.import"))) == 2  # the server and this test's program itself


@pytest.mark.parametrize("preload", ["None", "'data.units.warm'"])
def test_no_module_of_the_current_folder_is_imported(tmp_path, preload):
    """`python -c`, by which multiprocessing starts its server and its tracker, imports what lies there."""
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    for name in ("data", "random", "threading", "signal", "selectors", "html", "multiprocessing", "orjson"):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'EXECUTED')!r}, 'a').write(__name__ + ' ')\n")
    body = (
        f"    with LocalPool(2, preload={preload}) as pool:\n"
        "        print(pool(square, [Number(n) for n in range(4)]))\n"
    )
    done = subprocess.run(program(home, body), cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[0, 1, 4, 9]\n", done.stderr
    assert not (tmp_path / "EXECUTED").exists(), (tmp_path / "EXECUTED").read_text()


def test_ready_workers_do_not_wait_for_one_that_starts(tmp_path):
    """Nothing is sent to a worker before it is ready: a large function would hold up the parent, and so all others."""
    slow_second_start = (
        "else:\n"
        "    try:\n"
        "        (Path(sys.argv[1]) / 'quick').touch(exist_ok=False)\n"
        "    except FileExistsError:\n"
        "        time.sleep(60)\n"
    )
    body = (
        "    with LocalPool(2) as pool:\n"
        "        print(pool(functools.partial(sized, b'x' * 5_000_000), [Number(n) for n in range(6)]))\n"
    )
    done = subprocess.run(program(tmp_path, body + slow_second_start), capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr) == ("[0, 1, 2, 3, 4, 5]\n", "")


def test_workers_that_die_as_they_start_are_an_error(tmp_path):
    body = "    run_local(square, [Number(1)], workers=2)\nelse:\n    os._exit(7)\n"
    done = subprocess.run(program(tmp_path, body), capture_output=True, text=True, timeout=60)
    assert "HunminError: 3 workers died as they started (exit code 7)" in done.stderr


def test_a_ctrl_c_while_workers_start_shows_no_traceback(tmp_path):
    body = (
        "    run_local(square, [Number(1), Number(2)], workers=2)\n"
        "else:\n"
        "    os.write(1, b'starting\\n')\n"
        "    time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        program(tmp_path, body), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True
    )
    assert parent.stdout and parent.stdout.readline() == "starting\n"
    os.killpg(parent.pid, signal.SIGINT)
    errors = parent.communicate(timeout=30)[1]
    assert errors.count("Traceback") == 1 and "program.py" in errors  # the program's own


def test_a_server_that_died_is_started_again(tmp_path):
    body = (
        "    from multiprocessing import forkserver\n"
        "    print(run_local(square, [Number(n) for n in range(4)], workers=2))\n"
        "    os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)\n"
        "    print(run_local(square, [Number(n) for n in range(4)], workers=2))\n"
    )
    done = subprocess.run(program(tmp_path, body), capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[0, 1, 4, 9]\n" * 2, "")


def test_a_pool_serves_on_after_a_call_that_was_broken_off(tmp_path):
    def interrupt(value):
        raise KeyboardInterrupt

    with LocalPool(2) as pool:
        with pytest.raises(KeyboardInterrupt):
            pool(square, [Number(n) for n in range(6)], interrupt)
        with pytest.raises(DiskFullError):
            pool(full, [Number(n) for n in range(6)])
        assert pool(square, [Number(n) for n in range(6)]) == [n * n for n in range(6)]


def test_available_cores():
    assert 1 <= available_cores() <= (os.cpu_count() or 1)


def test_workers_end_with_a_killed_parent(tmp_path):
    body = "    run_local(functools.partial(sleep, Path(sys.argv[1])), [Number(1), Number(2)], workers=2)\n"
    parent = subprocess.Popen(program(tmp_path, body), stderr=subprocess.DEVNULL)
    until(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
    parent.kill()
    parent.wait()
    workers = [int(file.stem) for file in tmp_path.glob("*.pid")]
    until(lambda: not any(map(alive, workers)))
    assert len(workers) == 2


def program(folder: Path, body: str) -> list[str]:
    """Return the command of a program that runs `body`; what stands under `else:` there is run by its workers."""
    (folder / "program.py").write_text(
        "import functools, os, signal, sys, time; from pathlib import Path; sys.path[:0] = sys.argv[1:]\n"
        "from executor_jobs import Number, sized, sleep, square\n"
        "from data.executors.local import LocalPool, run_local\n"
        f"if __name__ == '__main__':\n{body}"
    )
    here = Path(__file__).resolve()
    return [sys.executable, str(folder / "program.py"), str(folder), str(here.parent), str(here.parents[3])]


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


def test_the_users_own_choice_of_imports_is_given_back(monkeypatch):
    from data.executors.imports import safe_imports

    for before in ("", "1", None):
        monkeypatch.setenv("PYTHONSAFEPATH", before) if before is not None else monkeypatch.delenv("PYTHONSAFEPATH")
        with safe_imports():
            assert os.environ["PYTHONSAFEPATH"] == "1"
        assert os.environ.get("PYTHONSAFEPATH") == before
