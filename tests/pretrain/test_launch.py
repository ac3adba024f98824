"""The launcher: exit codes, the end of all when one fails, signals that reach all and wait until they can be taken."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from pretrain.launch import STOP_SIGNALS
rank, folder = int(os.environ["RANK"]), Path(sys.argv[1])
assert os.environ["WORLD_SIZE"] == "3" and os.environ["MASTER_ADDR"] and int(os.environ["MASTER_PORT"])
"""


def start(folder: Path, body: str) -> subprocess.Popen[bytes]:
    program = folder / "program.py"
    program.write_text(PROGRAM + body)
    line = f"import sys; from pretrain.launch import launch; sys.exit(launch([{sys.executable!r}, *sys.argv[1:]], 3))"
    return subprocess.Popen([sys.executable, "-c", line, str(program), str(folder)], stderr=subprocess.PIPE)


@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize(("end", "code"), [("sys.exit(2)", 2), ("os.kill(os.getpid(), 9)", 1)])
def test_when_one_fails_the_others_end_and_its_code_counts(rank: int, end: str, code: int, tmp_path: Path) -> None:
    began = time.monotonic()
    process = start(tmp_path, f"if rank == {rank}:\n    {end}\ntime.sleep(120)")
    assert process.wait(60) == code and time.monotonic() - began < 40


def test_what_a_process_says_is_passed_on_and_kept(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + "print(f'rank {rank} says\\nsomething', file=sys.stderr)\nos.write(2, b'\\xff' * 9)")
    line = (
        "import sys; from pathlib import Path; from pretrain.launch import launch; "
        f"sys.exit(launch([{sys.executable!r}, *sys.argv[1:]], 3, Path(sys.argv[2]) / 'ranks'))"
    )
    done = subprocess.run([sys.executable, "-c", line, str(program), str(tmp_path)], capture_output=True, timeout=60)
    assert done.returncode == 0
    said = [f"rank {rank} says\nsomething\n".encode() + b"\xff" * 9 for rank in range(3)]
    assert len(done.stderr) == sum(map(len, said)) and all(
        f"rank {rank} says".encode() in done.stderr for rank in range(3)
    )
    assert [(tmp_path / "ranks" / f"rank-{rank}.log").read_bytes() for rank in range(3)] == said


def test_all_end_well(tmp_path: Path) -> None:
    assert start(tmp_path, "(folder / f'rank-{rank}').touch()").wait(60) == 0
    assert len(list(tmp_path.glob("rank-*"))) == 3


def test_a_signal_reaches_all_and_waits_for_those_that_are_starting(tmp_path: Path) -> None:
    body = """
(folder / f"up-{rank}").touch()
time.sleep(1)  # not ready yet
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
until = time.monotonic() + 20
while not asked and time.monotonic() < until:
    time.sleep(0.01)
sys.exit(0 if asked else 5)
"""
    process = start(tmp_path, body)
    while len(list(tmp_path.glob("up-*"))) < 3:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def test_a_stop_that_comes_while_a_finished_process_goes_down_changes_nothing(tmp_path: Path) -> None:
    """Its interpreter has no handlers of Python's any more by then."""
    body = """
from pretrain.launch import ignore_stops
from pretrain.train import StopFlag

StopFlag()

class Slow:
    def __del__(self, late=folder / f"late-{rank}", sleep=time.sleep):
        late.touch()
        sleep(2)

ignore_stops()
slow = Slow()
"""
    process, until = start(tmp_path, body), time.monotonic() + 30
    while len(list(tmp_path.glob("late-*"))) < 3:
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
