"""The executor of threads: what cannot be dropped is named when it is waited for."""

import os
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from executor_jobs import until

ROOT = Path(__file__).parents[3]
PROGRAM = """
import signal, sys, time
from pathlib import Path
from data.executors.threads import ThreadPool
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background

def work(folder):
    (folder / "begun").touch()
    while not (folder / "end").exists():
        time.sleep(0.02)

with ThreadPool(1) as pool:
    pool(work, [Path(sys.argv[1])])
"""


def test_after_ctrl_c_it_is_said_what_is_waited_for(tmp_path: Path) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until((tmp_path / "begun").exists)
    program.send_signal(signal.SIGINT)
    assert program.stderr and program.stderr.readline().startswith("interrupted: waiting for the work units under way")
    (tmp_path / "end").touch()
    assert program.communicate(timeout=60)[1].rstrip().endswith("KeyboardInterrupt")
