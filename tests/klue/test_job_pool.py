"""The pool and the server together: jobs in processes of their own that end with the runner, however that ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from common.errors import HunminError
from klue.job_pool import JobPool


def alive(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_exit_codes_logs_and_a_killed_server(tmp_path):
    with JobPool(tmp_path, 1, tmp_path / "server.log") as pool:
        broken = tmp_path / "broken.json"
        broken.write_text("{}")
        pool.start(broken, tmp_path / "broken.log")
        ended = []
        wait_for(lambda: ended.extend(pool.ended(0.2)) or ended)
        assert ended == [(broken, 2)]
        assert "describes no job" in (tmp_path / "broken.log").read_text()
        os.kill(pool._process.pid, signal.SIGKILL)
        with pytest.raises(HunminError, match="has died"):
            while True:
                pool.ended(0.2)


RUNNER = """
import signal, sys, time
from pathlib import Path
from klue.job_pool import JobPool
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
with JobPool(Path(sys.argv[1]), 1, Path(sys.argv[1]) / "server.log") as pool:
    for name in "ab":
        pool.start(Path(sys.argv[1]) / "fifo", Path(sys.argv[1]) / f"{name}.log")
    print(pool._process.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_jobs_die_with_the_runner(tmp_path, how):
    os.mkfifo(tmp_path / "fifo")  # a job that reads its description from here waits for ever
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    server = int(runner.stdout.readline())
    children = Path(f"/proc/{server}/task/{server}/children")
    wait_for(lambda: len(children.read_text().split()) == 2)
    jobs = [int(pid) for pid in children.read_text().split()]
    runner.send_signal(how)
    runner.wait(30)
    wait_for(lambda: not any(map(alive, [server, *jobs])), 20)
    assert len(jobs) == 2
