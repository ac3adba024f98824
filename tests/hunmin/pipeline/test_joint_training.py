"""`hunmin pretrain` as one of several processes that a launcher has started: one run, with the bytes of a local one."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mini import write_further, write_mini

from common.manifest import read_manifest
from tests.runs import copy_run

pytestmark = pytest.mark.drill

HUNMIN = [sys.executable, "-c", "from hunmin.main import main; main()"]
ENVIRONMENT = {
    **os.environ,
    "WANDB_MODE": "offline",
    "PYTHONPATH": str(Path(__file__).parents[3]),
    "OMP_NUM_THREADS": "1",
}


@pytest.fixture(scope="module")
def encoded(mini_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose token shards are done."""
    folder = tmp_path_factory.mktemp("joint")
    recipe = write_further(mini_run, folder, micro_batch=8)
    assert subprocess.run([*HUNMIN, "run", str(recipe), "--until", "encode"], env=ENVIRONMENT).returncode == 0
    return folder


def copy_of(encoded: Path, out: Path) -> list[str]:
    """Return the arguments of a run in a folder of its own that begins with those shards."""
    copy_run(encoded / "run", out)
    return [str(encoded / "recipe.yaml"), f"out={out}"]


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def start(arguments: list[str], world: int = 2, alone: list[str] | None = None) -> list[subprocess.Popen[str]]:
    """Start the tasks of a Slurm step on one machine, the last one with more arguments."""
    step = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": str(world), "SLURM_NTASKS": str(world),
            "SLURM_STEP_NUM_NODES": "1", "SLURM_NNODES": "1", "SLURM_STEP_NODELIST": "localhost", "SLURM_NODEID": "0",
            "SLURM_STEP_TASKS_PER_NODE": str(world), "MASTER_PORT": free_port()}  # fmt: skip
    return [
        subprocess.Popen(
            [*HUNMIN, "pretrain", *arguments, *((alone or []) if rank == world - 1 else [])],
            env={**ENVIRONMENT, **step, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]


def ends(processes: list[subprocess.Popen[str]]) -> tuple[list[int], list[str]]:
    """Return exit codes and messages."""
    said = [process.communicate(timeout=600)[1] for process in processes]
    return [process.returncode for process in processes], said


def trained(out: Path) -> tuple[bytes, dict[str, object]]:
    manifest = read_manifest(out / "pretrain")
    assert manifest and not (out / "pretrain.partial").exists()
    return (out / "pretrain" / "model" / "model.safetensors").read_bytes(), manifest.counts


def test_torchrun_and_srun_train_what_processes_of_one_command_train(encoded: Path, tmp_path: Path) -> None:
    local = copy_of(encoded, tmp_path / "local")
    assert subprocess.run([*HUNMIN, "pretrain", *local, "pretrain.processes=2"], env=ENVIRONMENT).returncode == 0
    expected = trained(tmp_path / "local")

    codes, said = ends(start(copy_of(encoded, tmp_path / "slurm"), alone=["pretrain.micro_batch=4"]))
    assert codes == [0, 0], said
    assert "rank 1 on " in said[0] and "do not count: pretrain.micro_batch: 8 → 4" in " ".join(said[0].split())
    assert trained(tmp_path / "slurm") == expected
    assert "pretrain   done in" in said[0] and "pretrain" not in said[1]

    arguments = copy_of(encoded, tmp_path / "torchrun")
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "hunmin.main", "pretrain"]
    for _ in range(2):  # the second time there is nothing to do
        done = subprocess.run([sys.executable, *command, *arguments], env=ENVIRONMENT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert trained(tmp_path / "torchrun") == expected
    assert "pretrain   done\n" in done.stderr and "begins" not in done.stderr


def test_a_stop_of_one_task_saves_all_and_the_same_command_goes_on(encoded: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    long = [*copy_of(encoded, out), "pretrain.steps=400", "pretrain.checkpoint_every=200", "pretrain.log_every=1"]
    processes = start(long)
    log = out / "pretrain.partial" / "logs" / "metrics.jsonl"
    until = time.monotonic() + 600
    while not (log.exists() and log.read_text().count("\n") > 5):
        assert time.monotonic() < until and all(process.poll() is None for process in processes)
        time.sleep(0.05)
    processes[1].send_signal(signal.SIGTERM)
    codes, said = ends(processes)
    assert codes == [130, 130], said
    assert "stopped" in said[0] and (out / "pretrain.partial" / "logs" / "stopped").exists()
    codes, said = ends(start(long))
    assert codes == [0, 0] and "resuming at step" in said[0], said
    steps = [
        json.loads(line)["step"] for line in (out / "pretrain" / "logs" / "metrics.jsonl").read_text().splitlines()
    ]
    assert [*dict.fromkeys(steps)] == list(range(401)) and trained(out)[1]["steps"] == 400


def test_what_the_first_process_refuses_ends_the_others_with_its_message(tmp_path: Path) -> None:
    codes, said = ends(start([str(write_mini(tmp_path, micro_batch=8))]))
    assert codes[0] == 2 and codes[1] != 0
    assert "stage 'corpus' is not done" in said[0] and "--until encode" in said[0]
    assert "stage 'corpus' is not done" in said[1] and "Traceback" not in said[0] + said[1]


def test_the_others_do_not_wait_for_the_last_push(
    encoded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hub that takes the call and does not answer: the first process waits for it alone."""
    with socket.create_server(("127.0.0.1", 0)) as hub:
        hub.settimeout(120)
        values = {"HF_ENDPOINT": f"http://127.0.0.1:{hub.getsockname()[1]}", "HF_TOKEN": "hf_x", "HF_HUB_OFFLINE": "0"}
        for name, value in values.items():
            monkeypatch.setitem(ENVIRONMENT, name, value)
        processes = start([*copy_of(encoded, tmp_path / "run"), "hub.repository=me/live"])
        try:
            with hub.accept()[0]:
                assert processes[1].wait(timeout=60) == 0
                assert processes[0].poll() is None and trained(tmp_path / "run")
        finally:
            for process in processes:
                process.kill()
                process.communicate()
