"""Ends of processes."""

import os
import signal
import sys
import time

import pytest

from common.process import Terminated, end_on_sigterm, run_child, running_children


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
