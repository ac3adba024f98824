"""Jobs in processes of their own, of which none takes another along, and that end with the runner however that ends."""

import os
import signal
import subprocess
import sys
from multiprocessing import forkserver
from pathlib import Path

import pytest

from data.executors.local import LocalPool

sys.path.insert(0, str(Path(__file__).parent))
from executor_jobs import alive, stand_in, until

ROOT = Path(__file__).parents[3]


def ends(pool, count):
    exit_codes = {}
    while len(exit_codes) < count:
        exit_codes |= pool.ended(60)
    return exit_codes


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the kernel does not end a job with its server")
def test_each_job_ends_in_its_own_way_with_its_own_log(tmp_path):
    jobs = ["well", "broken", "wrong", "killed"]
    before = dict(os.environ)
    with LocalPool(environment={"OMP_NUM_THREADS": "3"}) as pool:
        for job in jobs:
            pool.start(job, stand_in, job, log=tmp_path / job)
        assert ends(pool, 4) == {"well": 0, "broken": 1, "wrong": 2, "killed": -signal.SIGKILL}
        pool.start("endless", stand_in, "endless", log=tmp_path / "endless")
        lost = pool._running["endless"].pid
        os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)  # the next job gets another server
        assert ends(pool, 1) == {"endless": 255}
        until(lambda: not alive(lost))
        pool.start("later", stand_in, "later", log=tmp_path / "later")
        assert ends(pool, 1) == {"later": 0}
    said = {job: (tmp_path / job).read_text() for job in [*jobs, "later"]}
    assert all(text.startswith(f"says {job} 3\n") for job, text in said.items())
    assert "ValueError: a fault of the code" in said["broken"]
    assert "too hot" in said["wrong"] and "Traceback" not in said["wrong"]
    assert {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"} == {
        name: value for name, value in before.items() if name != "PYTEST_CURRENT_TEST"
    }


def test_a_server_that_another_stage_began_gives_way(tmp_path):
    """It lacks the jobs' modules and their environment."""
    forkserver.ensure_running()
    server = forkserver._forkserver._forkserver_pid
    with LocalPool(environment={}) as pool:
        assert forkserver._forkserver._forkserver_pid not in (None, server)
        pool.start("endless", stand_in, "endless", log=tmp_path / "endless")
        job = pool._running["endless"].pid
    assert not Path(f"/proc/{job}").exists() and forkserver._forkserver._forkserver_pid is None


RUNNER = """
import signal, sys, time
from pathlib import Path
from data.executors.local import LocalPool
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
    with LocalPool(environment={}) as pool:
        for name in "ab":
            pool.start(name, time.sleep, 600, log=Path(sys.argv[1]) / name)
        print(*(process.pid for process in pool._running.values()), flush=True)
        pool.ended(600)
"""


IMPORTING = """
import signal, sys, time
from pathlib import Path
from data.executors.local import LocalPool
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with LocalPool(modules=["slow_module"], environment={}) as pool:
        pool.start("a", time.sleep, 600, log=Path(sys.argv[1]) / "a")
"""


def test_a_ctrl_c_while_the_server_imports_ends_at_once(tmp_path):
    """The server has torch and transformers to import, for which a stopped command once waited in silence."""
    (tmp_path / "slow_module.py").write_text("import time\nprint('imports', flush=True)\ntime.sleep(3600)\n")
    script = tmp_path / "runner.py"
    script.write_text(IMPORTING)
    runner = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"}, start_new_session=True,
    )  # fmt: skip
    assert runner.stdout.readline() == "imports\n"
    os.killpg(runner.pid, signal.SIGINT)
    assert runner.communicate(timeout=60)[1].rstrip().endswith("KeyboardInterrupt")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_jobs_die_with_the_runner(tmp_path, how):
    script = tmp_path / "runner.py"
    script.write_text(RUNNER)
    runner = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    jobs = [int(pid) for pid in runner.stdout.readline().split()]
    assert len(jobs) == 2
    server = int(Path(f"/proc/{jobs[0]}/stat").read_text().rsplit(")", 1)[1].split()[1])
    runner.send_signal(how)
    runner.wait(30)
    until(lambda: not any(map(alive, (*jobs, server))))
