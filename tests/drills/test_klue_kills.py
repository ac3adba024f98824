"""Fine-tuning of several tasks killed at random moments: the results of the undisturbed run, and no job done twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from tests.klue.conftest import sample_characters, write_model, write_sample

pytestmark = [
    pytest.mark.drill,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc"),
]

TASKS = ("ynat", "klue-ner", "klue-dp", "klue-mrc")
SEEDS = 4
RUNNER_KILLS, JOB_KILLS = 6, 3
LONGEST = 5.0
"""Seconds of work after which a kill comes at most."""
T = TypeVar("T")


class Command:
    """`hunmin klue finetune` under way, with two jobs at once."""

    def __init__(self, model: Path, data: Path, out: Path, element: int | None = None) -> None:
        array = [] if element is None else ["--executor", "slurm-array"]
        slurm = {"ID": element, "COUNT": 2, "MIN": 0} if array else {}
        tasks = [word for name in TASKS for word in ("--task", name)]
        values = ["device=cpu", "workers=2", "training.max_seq_len=64", "training.epochs=2"]
        line = ["klue", "finetune", str(model), "--data", str(data), "--out", str(out), "--seeds", str(SEEDS)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hunmin.main", *line, *array, *tasks, *values],
            env={**os.environ, **{f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in slurm.items()}},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def server(self) -> int:
        """Return the process that jobs are forked from once it is there."""
        return wait_for(
            lambda: [pid for pid in children(self.process.pid) if "multiprocessing.forkserver" in line(pid)]
        )[0]

    def running(self) -> dict[str, int]:
        """Return {folder of the job: process} of the jobs that run now, by the logs they write to."""
        jobs = {}
        for server in children(self.process.pid):
            for job in children(server):
                with suppress(OSError):
                    log = Path(f"/proc/{job}/fd/1").readlink()
                    if log.suffix == ".log":
                        jobs[log.parents[1].name] = job
        return jobs

    def end(self) -> tuple[int, str]:
        """Return exit code and messages when it and all that it started have ended."""
        everyone = [pid for child in children(self.process.pid) for pid in (child, *children(child))]
        _, errors = self.process.communicate()
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in everyone), 30)
        return self.process.returncode, errors


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def line(pid: int) -> str:
    """Return a process's command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def wait_for(look: Callable[[], T], seconds: float = 120) -> T:
    until = time.monotonic() + seconds
    while not (result := look()):
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)
    return result


def writings(out: Path) -> dict[str, tuple[int, int]]:
    """Return, of each job that is done, what tells one writing of its result from another: time, place on the disk."""
    stats = {path.parent.name: path.stat() for path in out.glob("jobs/*/result.json")}
    return {name: (stat.st_mtime_ns, stat.st_ino) for name, stat in stats.items()}


def job_of(folder: str) -> str:
    """Return what messages call the job of a folder."""
    return folder.rpartition("-")[0]


def outputs(out: Path) -> dict[str, bytes]:
    files = (path for path in out.rglob("*") if path.is_file() and "logs" not in path.parts)
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def begin(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Command]:
    folder = tmp_path_factory.mktemp("inputs")
    return partial(Command, write_model(folder / "model", text=sample_characters()), write_sample(folder / "data"))


@pytest.fixture(scope="module")
def straight(begin: Callable[..., Command], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("straight") / "klue"
    code, errors = begin(out).end()
    assert code == 0, errors
    assert len(writings(out)) == len(TASKS) * SEEDS
    return out


def test_kills_of_the_runner(begin: Callable[..., Command], straight: Path, tmp_path: Path) -> None:
    draw, out = random.Random(1), tmp_path / "klue"
    done: dict[str, tuple[int, int]] = {}
    for number in range(RUNNER_KILLS):
        command = begin(out)
        if number % 2:  # every other kill comes soon after a job is done, the rest any time
            wait_for(lambda known=len(done): len(writings(out)) > known)
        time.sleep(draw.uniform(0, LONGEST / (1 + 4 * (number % 2))))
        os.kill(command.process.pid, signal.SIGKILL)
        code, _ = command.end()
        assert code == -signal.SIGKILL
        now = writings(out)
        assert {name: now.get(name) for name in done} == done, "a job that was done was done again"
        done = now
        assert len(done) < len(TASKS) * SEEDS, "too little work for so many kills"
    code, errors = begin(out).end()
    assert code == 0 and len(done) > 0, errors
    assert f"{len(done)} of {len(TASKS) * SEEDS} jobs are finished already" in errors
    assert {name: writings(out)[name] for name in done} == done
    assert (out / "results.jsonl").read_bytes() == (straight / "results.jsonl").read_bytes()
    assert outputs(out) == outputs(straight)


def test_a_kill_of_the_process_that_jobs_are_forked_from(
    begin: Callable[..., Command], straight: Path, tmp_path: Path
) -> None:
    """It costs the jobs that run; the others get another one."""
    out, command = tmp_path / "klue", begin(tmp_path / "klue")
    wait_for(command.running)
    os.kill(command.server(), signal.SIGKILL)
    code, errors = command.end()
    lost = set(writings(straight)) - set(writings(out))
    assert code == 1 and "Traceback" not in errors and 1 <= len(lost) <= 2, errors
    assert all(f"{job_of(name)} failed" in errors for name in lost)
    code, errors = begin(out).end()
    assert code == 0 and outputs(out) == outputs(straight), errors


def test_kills_of_single_jobs(begin: Callable[..., Command], straight: Path, tmp_path: Path) -> None:
    draw, out = random.Random(2), tmp_path / "klue"
    everything = set(writings(straight))
    command, killed = begin(out), set()
    while len(killed) < JOB_KILLS:
        running = wait_for(command.running)
        time.sleep(draw.uniform(0, LONGEST / 2))
        victim = draw.choice(sorted(running))
        if command.running().get(victim) == running[victim] and victim not in writings(out):
            os.kill(running[victim], signal.SIGKILL)
            killed.add(victim)
    code, errors = command.end()
    done = writings(out)
    assert code == 1 and "Traceback" not in errors, errors
    assert f"{JOB_KILLS} of {len(everything)} fine-tuning jobs failed" in errors, errors
    for name in killed:
        assert f"{job_of(name)} failed: killed by signal 9; the end of" in errors, errors
    assert set(done) == everything - killed
    assert len((out / "results.jsonl").read_text("utf-8").splitlines()) == len(done)  # what finished can be looked at
    code, errors = begin(out).end()
    assert code == 0 and f"{len(done)} of {len(everything)} jobs are finished already" in errors, errors
    again = writings(out)
    assert {name for name in everything if again[name] != done.get(name)} == killed
    assert outputs(out) == outputs(straight)


def test_a_kill_of_an_element_of_an_array(begin: Callable[..., Command], straight: Path, tmp_path: Path) -> None:
    out = tmp_path / "klue"
    first, second = begin(out, 0), begin(out, 1)
    wait_for(first.running)
    time.sleep(random.Random(3).uniform(0, LONGEST / 2))
    first.process.kill()
    assert first.end()[0] == -signal.SIGKILL
    code, errors = second.end()
    assert code == 0 and "element 1 is done" in errors and not (out / "results.jsonl").exists(), errors
    done = writings(out)
    assert len(TASKS) * SEEDS // 2 <= len(done) < len(TASKS) * SEEDS
    code, errors = begin(out, 0).end()
    assert code == 0, errors
    assert {name: writings(out)[name] for name in done} == done
    assert outputs(out) == outputs(straight)
