"""Processes as workers: what they import, how they start and end, and that none outlives its parent."""

import os
import signal
import subprocess
import sys
from multiprocessing import forkserver
from pathlib import Path

from data.executors.imports import safe_imports
from data.executors.local import LocalPool

sys.path.insert(0, str(Path(__file__).parent))
from executor_jobs import Number, alive, process_id, square, until


def test_a_pool_keeps_its_workers_from_call_to_call_and_starts_a_server_that_died_again():
    tasks = [Number(n) for n in range(6)]
    with LocalPool(2) as pool:
        first = set(pool(process_id, tasks))
        assert pool(square, tasks) == [n * n for n in range(6)]
        second = set(pool(process_id, tasks))
    assert 1 <= len(first | second) <= 2 and os.getpid() not in first
    until(lambda: not any(map(alive, first | second)))
    os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)  # type: ignore[attr-defined]
    with LocalPool(2) as pool:
        assert pool(square, tasks) == [n * n for n in range(6)]


def test_workers_outlive_their_server():
    tasks = [Number(n) for n in range(6)]
    with LocalPool(2) as pool:
        workers = set(pool(process_id, tasks))
        os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)  # type: ignore[attr-defined]
        assert pool(square, tasks) == [n * n for n in range(6)]
        assert set(pool(process_id, tasks)) & workers
    until(lambda: not any(map(alive, workers)))


def test_what_is_preloaded_is_imported_once_and_beforehand_and_nothing_of_the_current_folder(tmp_path):
    """`python -c`, by which multiprocessing starts its server and its tracker, imports what lies there."""
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    for name in ("data", "random", "threading", "signal", "selectors", "html", "multiprocessing", "orjson"):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'EXECUTED')!r}, 'a').write(__name__ + ' ')\n")
    (home / "slow_module.py").write_text(
        "import os, pathlib\npathlib.Path(__file__).with_name(f'{os.getpid()}.import').touch()\n"
        "def work(task):\n    return task.value\n"
    )
    body = (
        "    with LocalPool(2, modules=['slow_module']) as pool:\n"
        "        while not list(Path(sys.argv[1]).glob('*.import')): time.sleep(.05)\n"
        "        import slow_module\n"
        "        print(pool(slow_module.work, [Number(n) for n in range(4)]))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(home)}
    done = subprocess.run(program(home, body), cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("[0, 1, 2, 3]\n", "")
    assert len(list(home.glob("*.import"))) == 2  # the server and this test's program itself
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
        "        print(pool(functools.partial(large, b'x' * 5_000_000), [Number(n) for n in range(6)]))\n"
    )
    done = subprocess.run(program(tmp_path, body + slow_second_start), capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("[5000000, 5000001, 5000002, 5000003, 5000004, 5000005]\n", "")


def test_workers_that_die_as_they_start_are_an_error(tmp_path):
    body = "    LocalPool(2)(square, [Number(1)])\nelse:\n    os._exit(7)\n"
    done = subprocess.run(program(tmp_path, body), capture_output=True, text=True, timeout=120)
    assert "HunminError: 3 workers died as they started (exit code 7)" in done.stderr


def test_a_ctrl_c_while_workers_start_shows_no_traceback(tmp_path):
    body = (
        "    LocalPool(2)(square, [Number(1), Number(2)])\nelse:\n    os.write(1, b'starting\\n')\n    time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        program(tmp_path, body), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True
    )
    assert parent.stdout and parent.stdout.readline() == "starting\n"
    os.killpg(parent.pid, signal.SIGINT)
    errors = parent.communicate(timeout=120)[1]
    assert errors.count("Traceback") == 1 and "program.py" in errors  # the program's own


def test_a_ctrl_c_while_the_server_imports_ends_at_once(tmp_path):
    (tmp_path / "slow_module.py").write_text("import os, time\nos.write(1, b'imports\\n')\ntime.sleep(3600)\n")
    body = "    with LocalPool(2, modules=['slow_module']) as pool:\n        pool(square, [Number(1), Number(2)])\n"
    parent = subprocess.Popen(
        program(tmp_path, body), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert parent.stdout and parent.stdout.readline() == "imports\n"
    os.killpg(parent.pid, signal.SIGINT)
    assert parent.communicate(timeout=60)[1].count("Traceback") == 1  # the program's own


def test_workers_end_with_a_killed_parent(tmp_path):
    body = "    LocalPool(2)(functools.partial(sleep, Path(sys.argv[1])), [Number(1), Number(2)])\n"
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
        "from executor_jobs import Number, large, sleep, square\n"
        "from data.executors.local import LocalPool\n"
        f"if __name__ == '__main__':\n{body}"
    )
    here = Path(__file__).resolve()
    return [sys.executable, str(folder / "program.py"), str(folder), str(here.parent), str(here.parents[3])]


def test_the_users_own_choice_of_imports_is_given_back(monkeypatch):
    for before in ("", "1", None):
        monkeypatch.setenv("PYTHONSAFEPATH", before) if before is not None else monkeypatch.delenv("PYTHONSAFEPATH")
        with safe_imports({"A_VARIABLE": "x"}):
            assert (os.environ["PYTHONSAFEPATH"], os.environ["A_VARIABLE"]) == ("1", "x")
        assert (os.environ.get("PYTHONSAFEPATH"), os.environ.get("A_VARIABLE")) == (before, None)
