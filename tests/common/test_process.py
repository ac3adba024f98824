"""Ends of processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from common.process import Terminated, end_on_sigterm, own_package


def test_sigterm_unwinds_as_ctrl_c_does():
    before = signal.getsignal(signal.SIGTERM)
    undone = []
    try:
        end_on_sigterm()
        with pytest.raises(Terminated):
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                signal.pause()
            except Exception:
                undone.append("taken for a fault")
            finally:
                undone.append("undone")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert undone == ["undone"]


ENDING = """
import atexit, os, sys, threading, time
from common.process import end_process

class AbortsAtTheEnd:  # as a C++ thread does that lets go of a Python object while the interpreter goes down
    def __del__(self):
        os.abort()

aborts = AbortsAtTheEnd()
atexit.register(print, "handler")
threading.Thread(target=lambda: (time.sleep(0.3), print("thread"))).start()
print("no line's end", end=" ")
{end}(3)
"""


@pytest.mark.parametrize(("end", "code"), [("sys.exit", -signal.SIGABRT), ("end_process", 3)])
def test_a_process_ends_with_its_work_done_and_nothing_taken_down(end: str, code: int) -> None:
    command = [sys.executable, "-c", ENDING.format(end=end)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert (done.returncode, done.stdout) == (code, "no line's end thread\nhandler\n")
    buffered = subprocess.run(command, capture_output=True, text=True)
    assert (buffered.returncode, buffered.stdout) == (code, done.stdout)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 does not know PYTHONSAFEPATH")
@pytest.mark.parametrize("inherited", ["", ":", "elsewhere:"])  # an empty name is the current folder
def test_a_child_imports_this_package_and_nothing_of_the_current_folder(
    inherited: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "__init__.py").touch()
    for name in ("html.py", "common/progress.py"):
        (tmp_path / name).write_text("raise SystemExit(9)")
    monkeypatch.setenv("PYTHONPATH", inherited)
    program = "import html, common.progress; print(common.progress.__file__)"
    environment = {**os.environ, **own_package()}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.stdout.strip() == str(Path(__file__).parents[2] / "common" / "progress.py")


UNGUARDED = """
import multiprocessing
from common.process import refuse_unguarded
refuse_unguarded()
with multiprocessing.get_context("spawn").Pool(1) as pool:
    pool.map(len, ["ab"])
"""


def test_a_process_that_imports_its_script_anew_is_told_of_the_guard(tmp_path: Path) -> None:
    """Of another program's pool, whose processes have to say it themselves."""
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(
        [sys.executable, str(script)], env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:  # the pool would start processes for ever
        assert process.stderr
        said = next(line for line in process.stderr if "UserError" in line)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert 'calls hunmin without the guard `if __name__ == "__main__":`' in said


CHILD = """
import os, pathlib, signal, sys, time
folder = pathlib.Path(sys.argv[1])
signal.signal(signal.SIGINT, lambda *_: (folder / "told").touch())
(folder / "pid").write_text(str(os.getpid()))
(folder / "ready").touch()
while not (folder / "saved").exists():
    time.sleep(0.02)
raise SystemExit(7)
"""
PARENT = """
import signal, sys
from common import process
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
process.AGAIN_SECONDS = float(sys.argv[3])
command = [sys.executable, "-c", sys.argv[2], sys.argv[1]]
print(process.run_child(command, until="the child to save", kill=sys.argv[4] == "kill"))
"""


def interrupted(folder: Path, again: float, kill: str) -> subprocess.Popen[str]:
    """Return a parent that has received one Ctrl-C while its child, which was told, goes on."""
    command = [sys.executable, "-c", PARENT, str(folder), CHILD, str(again), kill]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    parent = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for(folder / "ready")
    os.kill(parent.pid, signal.SIGINT)
    return parent


def wait_for(path: Path) -> None:
    until = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < until, path
        time.sleep(0.02)


@pytest.mark.parametrize(("kill", "again"), [("no", 0.0), ("kill", 3600.0)])
def test_after_ctrl_c_it_is_said_what_is_waited_for(tmp_path: Path, kill: str, again: float) -> None:
    """At once, while the child still saves; and the same signal twice, of terminal and parent, kills nobody."""
    parent = interrupted(tmp_path, again, kill)
    assert parent.stderr
    said = parent.stderr.readline()  # the child does not end before "saved" is there
    assert said.startswith("interrupted: waiting for the child to save") and ("Ctrl-C again" in said) == (
        kill == "kill"
    )
    wait_for(tmp_path / "told")
    (tmp_path / "told").unlink()
    os.kill(parent.pid, signal.SIGINT)
    wait_for(tmp_path / "told")
    (tmp_path / "saved").touch()
    assert parent.communicate(timeout=60) == ("7\n", "") and parent.returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_a_second_ctrl_c_ends_a_child_at_once(tmp_path: Path) -> None:
    parent = interrupted(tmp_path, 0.0, "kill")
    wait_for(tmp_path / "told")
    os.kill(parent.pid, signal.SIGINT)
    _, said = parent.communicate(timeout=60)  # the child would wait for ever
    assert "Ctrl-C again ends it at once" in said and said.rstrip().endswith("KeyboardInterrupt")
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()
