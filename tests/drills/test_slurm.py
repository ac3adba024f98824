"""Slurm for real: its daemons on this machine as two nodes, and `hunmin launch` from the corpus to the scores.

Needs root and Debian's packages munge, slurmctld, slurmd and slurm-client.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.manifest import read_manifest
from hunmin.main import run_command

sys.path.insert(0, str(Path(__file__).parents[1] / "hunmin"))
from mini import write_mini

DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch")
pytestmark = [
    pytest.mark.drill,
    pytest.mark.skipif(
        os.geteuid() != 0 or not all(map(shutil.which, DAEMONS)),
        reason="Slurm's daemons need root and the packages munge, slurmctld, slurmd, slurm-client",
    ),
]
ROOT = Path(__file__).parents[2]
CONF = """
ClusterName=drill
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=5
KillWait=10
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=60
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=9
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which Slurm's commands find two nodes."""
    folder = tmp_path_factory.mktemp("slurm")
    for path in (folder, *folder.parents):  # munge wants to be reached by all
        if path != Path("/") and not path.stat().st_mode & 0o001:
            path.chmod(path.stat().st_mode | 0o011)
    probes = [socket.socket() for _ in range(3)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(host=socket.gethostname().partition(".")[0], ports=ports, folder=folder))
    (folder / "state").mkdir()
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    environment = {**os.environ, "SLURM_CONF": str(conf), "PYTHONPATH": str(ROOT), "WANDB_MODE": "offline"}
    munged = [
        "munged", "--foreground", "--force", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.sock",
        f"--log-file={folder}/munge.log", f"--pid-file={folder}/munge.pid", f"--seed-file={folder}/seed",
    ]  # fmt: skip
    started = [subprocess.Popen(munged)]
    try:
        time.sleep(1)
        for words in (["slurmctld", "-D"], ["slurmd", "-D", "-N", "n1"], ["slurmd", "-D", "-N", "n2"]):
            started.append(subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL))
            time.sleep(1)
        until = time.monotonic() + 30
        while said("sinfo", "-h", "-o", "%T %D", environment=environment) != "idle 2":
            assert time.monotonic() < until, said("sinfo", "-N", "-l", environment=environment)
            time.sleep(0.5)
        yield environment
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(30)


def said(*words: str, environment: dict[str, str]) -> str:
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip()


def state(job: str, environment: dict[str, str]) -> str:
    shown = said("scontrol", "show", "job", job, environment=environment)
    return next((word.partition("=")[2] for word in shown.split() if word.startswith("JobState=")), shown)


def wait_for(event: str, true: object, seconds: float) -> None:
    assert callable(true)
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, event
        time.sleep(0.5)


def launched(recipe: Path, folder: Path, environment: dict[str, str], *options: str) -> list[str]:
    """Return the numbers of the three jobs."""
    (folder / "node.env").write_text("MASTER_ADDR=127.0.0.1\nOMP_NUM_THREADS=1\n")  # nobody resolves n1
    command = [sys.executable, "-m", "hunmin.main", "launch", str(recipe), "klue.tasks=[ynat]", "--launcher", "slurm"]
    command += ["--nodes", "2", "--devices", "1", "--cpu", "--env-file", "node.env", *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    jobs = [line.rpartition(" ")[2] for line in done.stderr.splitlines() if line.startswith("submitted")]
    assert len(jobs) == 3
    return jobs


def kill_a_task(recipe: Path) -> None:
    """Kill a training process as if it had broken."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if b"pretrain" in words and str(recipe).encode() in words and b"srun" not in words[0]:
                os.kill(int(path.parent.name), signal.SIGKILL)
                return
    raise AssertionError("no training process runs")


def test_a_launch_is_stopped_requeued_resumed_and_scored(slurm: dict[str, str], tmp_path: Path) -> None:
    """By the signal before the limit, by another job and by a failure; in a folder that sbatch would take apart."""
    folder = tmp_path / "my runs # 100%"
    folder.mkdir()
    recipe = write_mini(
        folder, micro_batch=8, steps=1000, checkpoint_every=100, validate_every=300, log_every=1, validation_samples=0
    )
    jobs = launched(recipe, folder, slurm, "--time", "30", "--restarts", "1")

    def back(times: int) -> None:
        shown = lambda: said("scontrol", "show", "job", jobs[1], environment=slurm)  # noqa: E731
        wait_for(f"back in the queue for the {times}. time", lambda: f"Restarts={times}" in shown(), 120)
        # twice KillWait, until nothing of the time before is left; Slurm itself waits for two minutes
        time.sleep(20)
        said("scontrol", "update", f"JobId={jobs[1]}", "StartTime=now", environment=slurm)

    run = folder / "run"
    log = run / "pretrain.partial" / "logs" / "metrics.jsonl"
    logs = lambda: "\n".join(path.read_text() for path in (run / "logs").rglob("*.log"))  # noqa: E731
    wait_for("training begins", lambda: log.exists() and log.read_text().count("\n") > 20, 300)
    assert "n1 n2" in said("scontrol", "show", "hostnames", "n[1-2]", environment=slurm).replace("\n", " ")
    # what Slurm sends five minutes before the limit
    assert not said("scancel", "--batch", "--signal=USR1", jobs[1], environment=slurm)
    back(1)
    assert not list(run.rglob("*.failures")), "a stop counts as a failure:\n" + logs()
    wait_for("training goes on", lambda: "resuming at step" in logs(), 300)
    before = log.read_text().count("\n")
    wait_for("training steps", lambda: log.read_text().count("\n") > before + 10, 300)
    resumed = logs().count("resuming at step")
    urgent = ["sbatch", "--partition=urgent", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=sleep 1"]
    assert "Submitted" in said(*urgent, environment=slurm)
    back(2)
    assert not list(run.rglob("*.failures")), "a preemption counts as a failure:\n" + logs()
    assert "for another job, and saved" in logs()
    wait_for("training goes on", lambda: logs().count("resuming at step") > resumed, 300)
    kill_a_task(recipe)
    back(3)
    (failures,) = run.rglob("*.failures")
    assert failures.read_text().count("\n") == 1
    wait_for("training ends", lambda: state(jobs[1], slurm) in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"), 400)
    assert state(jobs[1], slurm) == "COMPLETED", logs()
    assert "restart 1 of 1" in logs() and "resuming at step" in logs()
    wait_for("scores", lambda: state(jobs[2], slurm) in ("COMPLETED", "FAILED", "CANCELLED"), 180)
    assert state(jobs[2], slurm) == "COMPLETED", logs()
    assert (run / "klue" / "summary.json").exists() and (run / "report" / "report.json").exists()
    assert sorted(path.name for path in (run / "logs" / "ranks").iterdir()) == ["rank-0.log", "rank-1.log"]

    straight = [str(recipe), f"out={tmp_path / 'straight'}", "pretrain.processes=2"]
    shutil.copytree(run, tmp_path / "straight", ignore=shutil.ignore_patterns("pretrain*", "export", "klue", "report"))
    assert run_command(["pretrain", *straight]) == 0
    assert read_manifest(tmp_path / "straight" / "pretrain")
    actual, expected = (folder / "pretrain" / "model" / "model.safetensors" for folder in (run, tmp_path / "straight"))
    assert actual.read_bytes() == expected.read_bytes()


def test_a_job_that_fails_for_good_says_so_and_nothing_follows(slurm: dict[str, str], tmp_path: Path) -> None:
    recipe = write_mini(tmp_path, micro_batch=8, steps=100_000, checkpoint_every=300, log_every=1)
    jobs = launched(recipe, tmp_path, slurm, "--restarts", "0")
    log = tmp_path / "run" / "pretrain.partial" / "logs" / "metrics.jsonl"
    wait_for("training begins", lambda: log.exists() and log.read_text().count("\n") > 5, 180)
    kill_a_task(recipe)
    wait_for("training ends", lambda: state(jobs[1], slurm) in ("COMPLETED", "FAILED"), 120)
    assert state(jobs[1], slurm) == "FAILED"
    shown = said("scontrol", "show", "job", jobs[1], environment=slurm)
    assert "Restarts=0" in shown and "ExitCode=0:0" not in shown
    wait_for("nothing follows", lambda: state(jobs[2], slurm) == "CANCELLED", 60)


def test_an_array_and_the_job_after_it_make_the_same_corpus(slurm: dict[str, str], tmp_path: Path) -> None:
    recipe = write_mini(tmp_path)
    build = f"{sys.executable} -m hunmin.main corpus build {recipe} --executor"
    common = ["sbatch", "--parsable", f"--output={tmp_path}/%j-%a.log", f"--chdir={tmp_path}"]
    array = said(*common, "--array=0-2", f"--wrap={build} slurm-array", environment=slurm)
    end = [*common, "--wait", f"--dependency=afterok:{array}", "--kill-on-invalid-dep=yes", f"--wrap={build} local"]
    done = subprocess.run(end, env=slurm, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr + "\n".join(path.read_text() for path in tmp_path.glob("*.log"))
    assert run_command(["run", str(recipe), f"out={tmp_path / 'local'}", "--until", "corpus"]) == 0
    actual, expected = (read_manifest(tmp_path / name / "corpus") for name in ("run", "local"))
    assert actual and expected and actual.outputs == expected.outputs
