"""Slurm: the batch scripts as they are, run with stand-ins for Slurm's commands, and the options at their head."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from jobs import job_of, refused

from common.errors import UserError
from hunmin.launch.cluster import Cluster
from hunmin.launch.slurm_options import directive, seconds_of
from hunmin.launch.start import emit

SHIMS = {
    "srun": 'echo "srun $*" >> calls\n'
    'case " $* " in *" pretrain "*) mark=1;; *) mark=;; esac\n'
    '[ -n "${FAIL:-}" ] && { echo "rank 0 broke" > runs/x/logs/ranks/rank-0.log; exit "$FAIL"; }\n'
    "trap '[ -z \"$mark\" ] || touch runs/x/pretrain.partial/logs/stopped; exit 143' TERM\n"
    "echo $$ > task\nfor i in $(seq 100); do sleep 0.1; [ -e finish ] && exit 0; done\n",
    "scancel": 'echo "scancel $*" >> calls\nkill -TERM "$(cat task)"\n'
    'while [ -n "${WAITS:-}" ] && kill -0 "$(cat task)" 2>/dev/null; do sleep 0.01; done\n',
    "scontrol": '[ "$1" = show ] && { echo "PreemptEligibleTime=2026-11-24 PreemptTime=${PREEMPTED:-None}"; exit; }\n'
    'echo "scontrol $*" >> calls\nexit "${REFUSES:-0}"\n',
}


class Batch:
    """A folder in which a batch script runs again and again, as Slurm would start it."""

    def __init__(self, folder: Path, name: str, **asked: int) -> None:
        self.folder = folder
        files = emit("slurm", job_of(Cluster(2, 1, cpu=True, image="registry/hunmin:1", **asked))).files  # type: ignore[arg-type]
        self._script = files[Path(f"runs/x/launch/{name}.sh")]
        for program, body in SHIMS.items():
            (folder / program).write_text(f"#!/bin/bash\n{body}")
            (folder / program).chmod(0o755)
        (folder / "runs/x/pretrain.partial/logs").mkdir(parents=True)
        (folder / "runs/x/pretrain.partial/logs/stopped").touch()  # of the time before

    def run(self, number: str = "", **variables: str) -> tuple[int, str, list[str]]:
        """Return exit code, what was printed, and Slurm's commands that were called."""
        for left in ("task", "calls", "finish"):
            (self.folder / left).unlink(missing_ok=True)
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "SLURM_JOB_ID": "7", **variables}
        running = subprocess.Popen(
            ["bash", "-c", self._script], cwd=self.folder, env=environment, stdout=subprocess.PIPE, text=True
        )
        task, until = self.folder / "task", time.monotonic() + 20
        while "FAIL" not in variables and not (task.exists() and task.read_text().strip()):
            assert running.poll() is None and time.monotonic() < until
        if number:
            os.kill(running.pid, getattr(signal, f"SIG{number}"))
        if number == "TERM":  # scancel sends it to every task, too
            os.kill(int(task.read_text()), signal.SIGTERM)
        elif not number and "FAIL" not in variables:
            (self.folder / "finish").touch()
        said, _ = running.communicate(timeout=30)
        calls = (self.folder / "calls").read_text().splitlines()
        return running.returncode, said, [call for call in calls if not call.startswith("srun")]


SIGNALLED = ["scancel --signal=TERM 7", "scontrol requeue 7"]


@pytest.mark.parametrize("name", ["corpus", "train", "scores"])
def test_a_job_that_meets_its_time_limit_saves_and_goes_back(name: str, tmp_path: Path) -> None:
    batch = Batch(tmp_path, name, restarts=0)
    for _ in range(3):  # it counts for no restart
        code, said, calls = batch.run("USR1")
        assert (code, calls) == (0, SIGNALLED) and "back to the queue" in said
    assert batch.run("USR1", WAITS="1")[::2] == (0, SIGNALLED)  # the step has ended before the signal is dealt with
    code, said, calls = batch.run("USR1", REFUSES="1")
    assert (code, calls) == (143, SIGNALLED) and "does not put this job back" in said  # not done: nothing may follow
    code, said, calls = batch.run("TERM")
    assert (code, calls) == (143, []) and "stopped as asked" in said
    code, said, calls = batch.run("TERM", PREEMPTED="2026-11-24T11:00:00")
    assert (code, calls) == (0, ["scontrol requeue 7"]) and "for another job" in said
    assert batch.run() == (0, "", [])


def test_a_failure_of_training_puts_the_job_back_so_many_times(tmp_path: Path) -> None:
    batch = Batch(tmp_path, "train", restarts=2)
    for restart in (1, 2):
        code, said, calls = batch.run(FAIL="7")
        assert (code, calls) == (0, ["scontrol requeue 7"]) and f"restart {restart} of 2" in said
        assert "exit code 7" in said and "rank 0 broke" in said
        assert batch.run("USR1")[0] == 0  # between them the time limit is met, which takes none
    code, said, calls = batch.run(FAIL="7")
    assert (code, calls) == (7, []) and "rank 0 broke" in said
    code, said, calls = batch.run(FAIL="7", SLURM_JOB_ID="8")  # another job begins anew
    assert (code, calls) == (0, ["scontrol requeue 8"])


def test_a_job_that_slurm_does_not_put_back_has_failed(tmp_path: Path) -> None:
    code, said, calls = Batch(tmp_path, "train").run(FAIL="7", REFUSES="1")
    assert (code, calls) == (7, ["scontrol requeue 7"]) and "does not put this job back" in said


def test_what_was_used_wrongly_is_not_tried_again(tmp_path: Path) -> None:
    assert Batch(tmp_path, "train").run(FAIL="2")[::2] == (2, [])


@pytest.mark.parametrize("name", ["corpus", "scores"])
def test_other_jobs_fail_at_once(name: str, tmp_path: Path) -> None:
    assert Batch(tmp_path, name).run(FAIL="7")[::2] == (7, [])


def options_of(name: str, **asked: object) -> list[str]:
    text = emit("slurm", job_of(Cluster(2, 8, **asked))).files[Path(f"runs/x/launch/{name}.sh")]  # type: ignore[arg-type]
    return [line.removeprefix("#SBATCH ") for line in text.splitlines() if line.startswith("#SBATCH ")]


@pytest.mark.parametrize("name", ["corpus", "train", "scores"])
def test_every_job_takes_whole_nodes_unless_the_user_says_otherwise(name: str) -> None:
    assert {"--exclusive", "--mem=0", "--requeue"} <= set(options_of(name))
    shared = options_of(name, lines=("--cpus-per-task=8", "--mem=100G", "--gres=gpu:a100:8"))
    assert not {"--exclusive", "--mem=0", "--gpus-per-node=8"} & set(shared)
    assert {"--cpus-per-task=8", "--mem=100G", "--gres=gpu:a100:8"} <= set(shared)
    assert "--exclusive" in options_of(name, lines=("--mem=100G",))
    assert "--exclusive" not in options_of(name, lines=("-s",))


def test_a_line_may_be_for_one_job() -> None:
    lines = ("--qos=high", "corpus:--partition=cpu", "corpus:-t 04:00:00", "train:--constraint=a:b")
    asked = {"partition": "gpu", "time": "24:00:00", "lines": lines}
    corpus, train = options_of("corpus", **asked), options_of("train", **asked)
    assert [one for one in corpus if "partition" in one] == ["--partition=cpu"]
    assert "-t 04:00:00" in corpus and "--time=24:00:00" not in corpus and "--constraint=a:b" not in corpus
    assert {"--partition=gpu", "--time=24:00:00", "--constraint=a:b", "--qos=high"} <= set(train)
    assert "--qos=high" in corpus
    for line in ("qos=high", "trian:--qos=high", "--"):
        assert "it is an option of sbatch" in refused("slurm", Cluster(lines=(line,)))


def test_values_are_quoted_for_sbatch(monkeypatch: pytest.MonkeyPatch) -> None:
    assert directive("--chdir=/a/my runs") == '#SBATCH --chdir="/a/my runs"'
    assert directive('--job-name=a "b" \\ #1') == '#SBATCH --job-name="a \\"b\\" \\\\ #1"'
    assert directive("--time=24:00:00") == "#SBATCH --time=24:00:00"
    monkeypatch.setattr(Path, "cwd", classmethod(lambda cls: Path("/home/김 씨/work")))
    job = job_of(Cluster(environment="my keys.env"), name="a b", out="my runs/100%")
    launch = emit("slurm", job)
    text = launch.files[Path("my runs/100%/launch/train.sh")]
    assert '#SBATCH --chdir="/home/김 씨/work"' in text and '#SBATCH --job-name="a b-train"' in text
    assert '#SBATCH --output="my runs/100%%/logs/slurm/train-%j.log"' in text  # % is Slurm's own sign
    assert "set -a; . '/home/김 씨/work/my keys.env'; set +a" in text
    assert "--output='my runs/100%%/logs/ranks'/rank-%t.log" in text


def test_the_time_for_saving() -> None:
    assert "--signal=B:USR1@300" in options_of("train") and "--signal=B:USR1@1800" in options_of("train", saving=1800)
    assert "a time limit of 300 s" in refused("slurm", Cluster(time="5"))  # over before it has begun
    assert "a time limit of 1800 s" in refused("slurm", Cluster(lines=("train:-t30",), saving=1800))
    emit("slurm", job_of(Cluster(time="UNLIMITED")))
    for limit, seconds in (("90", 5400), ("1:30", 90), ("1:00:01", 3601), ("2-0", 172_800), ("0-1:30", 5400),
                           ("1-1:1:1", 90_061), ("0", None), ("infinite", None)):  # fmt: skip
        assert seconds_of(limit) == seconds
    for limit in ("", "1h", "-5", "1:2:3:4"):
        with pytest.raises(UserError, match="DAYS-HOURS"):
            seconds_of(limit)


def test_a_task_is_tied_to_no_core_and_its_log_is_kept() -> None:
    for name, text in emit("slurm", job_of(Cluster(2, 8))).files.items():
        (line,) = [shlex.split(one.removesuffix("&")) for one in text.splitlines() if one.startswith("srun ")]
        assert "--cpu-bind=none" in line  # else a process has one core of the node
        assert ("--open-mode=append" in line) == (name.name == "train.sh")  # a job that is put back goes on writing


def test_batch_scripts_are_bash() -> None:
    for text in emit("slurm", job_of(Cluster(2, 8, time="60", environment="keys.env", image="a"))).files.values():
        assert subprocess.run(["bash", "-n"], input=text, text=True).returncode == 0
        assert not re.search("[{}]{2}|{[a-z]+}", text)
