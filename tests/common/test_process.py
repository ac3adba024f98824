"""Ends of processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from common.process import Terminated, end_on_sigterm, own_package, run_child, running_children


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


# each waits for what never comes: after its child has ended, while it runs, without ever having had one
HANGS = "import subprocess, time; subprocess.run(['sleep', '2']); time.sleep(60)"
ZOMBIE = "import subprocess, time; subprocess.Popen(['sleep', '2']); time.sleep(60)"
BUSY = "import subprocess; subprocess.run(['sleep', '3']); raise SystemExit(7)"
ALONE = "import time; time.sleep(3); raise SystemExit(8)"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.parametrize(("program", "code"), [(HANGS, -9), (ZOMBIE, -9), (BUSY, 7), (ALONE, 8)])
def test_a_program_whose_processes_have_ended_is_not_waited_for_without_end(program: str, code: int) -> None:
    began = time.monotonic()
    assert run_child([sys.executable, "-c", program], idle=1.5) == code
    assert time.monotonic() - began < 30


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_children_that_run() -> None:
    assert running_children(os.getppid())  # this process
    assert running_children(2**22 + 1)  # of one that is gone nothing is to be seen


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
