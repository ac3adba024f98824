"""Two nodes for real on one host: two network namespaces and a cable between them, two processes on each.

Needs root (`ip netns`). The nodes share the file system, as a cluster's do, unless a test takes it away from one.
"""

from __future__ import annotations

import os
import re
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
from hunmin.launch.waiting import SILENT_SECONDS
from hunmin.main import run_command

sys.path.insert(0, str(Path(__file__).parents[1] / "hunmin"))
from mini import write_mini


def _can_make_networks() -> bool:
    if os.geteuid() or not shutil.which("ip"):
        return False
    made = subprocess.run(["ip", "netns", "add", "hunmin-probe"], capture_output=True).returncode == 0
    subprocess.run(["ip", "netns", "delete", "hunmin-probe"], capture_output=True)
    return made


pytestmark = [
    pytest.mark.drill,
    pytest.mark.skipif(not _can_make_networks(), reason="network namespaces need root and iproute2"),
]
ROOT = Path(__file__).parents[2]
HOSTS = ("10.77.0.1", "10.77.0.2")
TOLD_SECONDS = 60
"""Within which the processes of the other node have ended."""
GIVEN_UP_SECONDS = 1000
"""After which a system gives up a connection to a node that does not answer."""


@pytest.fixture
def nodes() -> Iterator[tuple[str, str]]:
    """Two namespaces by a cable."""
    names = (f"hunmin-a{os.getpid()}", f"hunmin-b{os.getpid()}")

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    for name in names:
        ip("netns", "add", name)
    try:
        ip("link", "add", "cable", "netns", names[0], "type", "veth", "peer", "name", "cable", "netns", names[1])
        for name, host in zip(names, HOSTS, strict=True):
            ip("-n", name, "address", "add", f"{host}/24", "dev", "cable")
            ip("-n", name, "link", "set", "cable", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=True)


@pytest.fixture(scope="module")
def encoded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose token shards are done."""
    folder = tmp_path_factory.mktemp("nodes")
    settings = {"global_batch": 16, "micro_batch": 4, "steps": 60, "checkpoint_every": 10, "log_every": 1}
    assert run_command(["run", str(write_mini(folder, **settings)), "--until", "encode"]) == 0
    return folder


class Nodes:
    """`hunmin launch` given on each node."""

    def __init__(
        self,
        names: tuple[str, str],
        encoded: Path,
        out: Path,
        launcher: str,
        *overrides: str,
        restarts: int = 0,
        count: str = "2",
    ) -> None:
        if not out.exists():
            shutil.copytree(encoded / "run", out)
        self.out, self.names = out, names
        command = [
            sys.executable,
            "-m",
            "hunmin.main",
            "launch",
            str(encoded / "recipe.yaml"),
            f"out={out}",
            *overrides,
        ]
        command += ["--launcher", launcher, "--nodes", count, "--devices", "2", "--cpu", "--restarts", str(restarts)]
        command += ["--address", f"{HOSTS[0]}:29400"]
        command += ["--hosts", ",".join(HOSTS)] if launcher == "deepspeed" else []
        self._command = command
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, *before: str) -> Nodes:
        """Start both nodes; `before` is a shell command that node 1 runs first, in a mount namespace of its own."""
        self.processes = [self.start_node(number, *before) for number in range(2)]
        return self

    def start_node(self, number: int, *before: str) -> subprocess.Popen[str]:
        """Return the command that is running on a node."""
        environment = {
            **os.environ, "PYTHONPATH": str(ROOT), "WANDB_MODE": "offline", "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "cable", "DS_ACCELERATOR": "cpu",
        }  # fmt: skip
        words = [*self._command, "--node", str(number)]
        if number and before:
            words = ["unshare", "--mount", "sh", "-c", f'{before[0]} && exec "$@"', "sh", *words]
        log = (self.out.parent / f"{self.out.name}-node{number}.log").open("w")
        return subprocess.Popen(
            ["ip", "netns", "exec", self.names[number], *words], env=environment, stdout=log, stderr=log, text=True,
            start_new_session=True,
        )  # fmt: skip

    def kill_node(self, number: int) -> None:
        """End all processes of a node at once."""
        words = ["ip", "netns", "pids", self.names[number]]
        for pid in subprocess.run(words, capture_output=True, text=True).stdout.split():
            os.kill(int(pid), signal.SIGKILL)

    def wait_for(self, number: int, text: str, seconds: float = 600) -> None:
        until = time.monotonic() + seconds
        while text not in self.said(number):
            assert time.monotonic() < until and self.processes[number].poll() is None, self.said(0) + self.said(1)
            time.sleep(0.1)

    def said(self, number: int) -> str:
        return (self.out.parent / f"{self.out.name}-node{number}.log").read_text()

    def wait_for_step(self, step: int) -> None:
        log, until = self.out / "pretrain.partial" / "logs" / "metrics.jsonl", time.monotonic() + 900
        while not (log.exists() and f'"step": {step},' in log.read_text()):
            assert time.monotonic() < until and None in [p.poll() for p in self.processes], self.said(0) + self.said(1)
            time.sleep(0.1)

    def end(self, seconds: float = 900) -> list[int]:
        until = time.monotonic() + seconds
        try:
            return [process.wait(until - time.monotonic()) for process in self.processes]
        finally:
            for process in self.processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def weights(self) -> bytes:
        assert read_manifest(self.out / "pretrain")
        return (self.out / "pretrain" / "model" / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def expected(encoded: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The weights of four processes on one machine."""
    out = tmp_path_factory.mktemp("one") / "run"
    shutil.copytree(encoded / "run", out)
    assert run_command(["pretrain", str(encoded / "recipe.yaml"), f"out={out}", "pretrain.processes=4"]) == 0
    return (out / "pretrain" / "model" / "model.safetensors").read_bytes()


# what is left out takes long, and is not of the nodes
SCORES = ("klue.tasks=[ynat]", "klue.baseline_random=false")


@pytest.mark.parametrize("launcher", ["torchrun", "deepspeed"])
def test_two_nodes_train_what_one_trains_and_end_with_scores(
    launcher: str, nodes: tuple[str, str], encoded: Path, expected: bytes, tmp_path: Path
) -> None:
    run = Nodes(nodes, encoded, tmp_path / "run", launcher, *SCORES).start()
    assert run.end() == [0, 0], run.said(0) + run.said(1)
    assert run.weights() == expected
    assert (tmp_path / "run" / "klue" / "summary.json").exists()
    logs = [path for path in (tmp_path / "run" / "logs" / "ranks").rglob("*") if path.is_file()]
    assert len(logs) >= 4


@pytest.mark.parametrize("fault", ["killed", "cable"])
def test_a_lost_node_ends_the_other_and_the_same_command_goes_on(
    fault: str, nodes: tuple[str, str], encoded: Path, expected: bytes, tmp_path: Path
) -> None:
    run = Nodes(nodes, encoded, tmp_path / "run", "torchrun", *SCORES, "pretrain.steps=60").start()
    run.wait_for_step(15)
    began = time.monotonic()
    if fault == "killed":
        run.kill_node(1)
    else:
        subprocess.run(["ip", "-n", nodes[1], "link", "set", "cable", "down"], check=True)
    code = run.processes[0].wait(TOLD_SECONDS + 60)
    seconds = time.monotonic() - began
    print(f"{fault}: node 0 ended after {seconds:.1f} s", file=sys.stderr)
    run.end(GIVEN_UP_SECONDS)
    said = run.said(0)
    assert code != 0 and seconds < TOLD_SECONDS, said
    assert "rank 2 on" in said or "rank 3 on" in said, said
    if fault == "cable":
        subprocess.run(["ip", "-n", nodes[1], "link", "set", "cable", "up"], check=True)
    assert run.start().end() == [0, 0], run.said(0) + run.said(1)
    assert "resuming at step" in run.said(0) + run.said(1)
    assert run.weights() == expected


def test_after_a_failure_all_start_again_by_themselves(
    nodes: tuple[str, str], encoded: Path, expected: bytes, tmp_path: Path
) -> None:
    run = Nodes(nodes, encoded, tmp_path / "run", "torchrun", *SCORES, "pretrain.steps=60", restarts=1).start()
    run.wait_for_step(15)
    pids = subprocess.run(["ip", "netns", "pids", nodes[1]], capture_output=True, text=True).stdout.split()
    workers = [pid for pid in pids if b"hunmin.main\0pretrain" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    workers = [pid for pid in workers if b"torch.distributed.run" not in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(int(workers[0]), signal.SIGKILL)
    assert run.end() == [0, 0], run.said(0) + run.said(1)
    assert "resuming at step" in run.said(0) and run.weights() == expected


def test_without_a_node_that_is_lost_for_good_the_other_goes_on(
    nodes: tuple[str, str], encoded: Path, tmp_path: Path
) -> None:
    """Its weights are those of a run that is resumed by hand on as many processes, from the same checkpoint."""
    keep = (*SCORES, "pretrain.steps=60", "pretrain.keep_last=100")
    run = Nodes(nodes, encoded, tmp_path / "run", "torchrun", *keep, restarts=1, count="1:2").start()
    run.wait_for_step(15)
    began = time.monotonic()
    run.kill_node(1)
    hand = tmp_path / "hand"
    while "resuming at step" not in run.said(0):
        assert time.monotonic() - began < 600 and run.processes[0].poll() is None, run.said(0)
        if "rank 2 on" in run.said(0) and not hand.exists():  # its processes write no more, and no others do yet
            time.sleep(6)
            shutil.copytree(run.out, hand)
        time.sleep(0.1)
    print(f"node 0 goes on alone {time.monotonic() - began:.1f} s after node 1 was lost", file=sys.stderr)
    assert run.processes[0].wait(600) == 0, run.said(0)
    run.end(60)
    assert "world: 4 → 2" in run.said(0)

    log = tmp_path / "hand.log"
    words = [sys.executable, "-m", "hunmin.main", "pretrain", str(encoded / "recipe.yaml"), f"out={hand}", *keep]
    with log.open("w") as stream:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "WANDB_MODE": "offline", "OMP_NUM_THREADS": "1"}
        subprocess.run([*words, "pretrain.processes=2"], env=environment, stderr=stream, timeout=600, check=True)
    (resumed,) = re.findall("resuming at step [0-9]+", run.said(0))
    assert resumed in log.read_text() and "world: 4 → 2" in log.read_text()
    assert run.weights() == (hand / "pretrain" / "model" / "model.safetensors").read_bytes()


def test_a_node_that_comes_back_joins_the_one_that_goes_on_alone(
    nodes: tuple[str, str], encoded: Path, tmp_path: Path
) -> None:
    """The processes of the other save, and all go on from there: no restart is counted, and no step is lost."""
    long = (*SCORES, "pretrain.steps=100000", "pretrain.checkpoint_every=100")
    run = Nodes(nodes, encoded, tmp_path / "run", "torchrun", *long, restarts=1, count="1:2").start()
    try:
        run.wait_for_step(150)
        run.kill_node(1)
        run.wait_for(0, "world: 4 → 2")
        run.wait_for_step(400)
        began = time.monotonic()
        run.processes[1] = run.start_node(1)
        run.wait_for(0, "world: 2 → 4")
        print(f"node 1 takes part again after {time.monotonic() - began:.1f} s", file=sys.stderr)
        (stopped,) = re.findall(r"the checkpoint of step ([0-9]+) is complete", run.said(0))
        assert int(stopped) >= 400 and run.said(0).count("resuming at step") == 2
        assert f"resuming at step {stopped} of" in run.said(0)
    finally:
        for process in run.processes:
            process.send_signal(signal.SIGTERM)
        run.end(GIVEN_UP_SECONDS)


def test_a_node_with_a_copy_of_the_run_folder_is_refused_by_name(
    nodes: tuple[str, str], encoded: Path, tmp_path: Path
) -> None:
    run = Nodes(nodes, encoded, tmp_path / "run", "torchrun")
    copy = shutil.copytree(tmp_path / "run", tmp_path / "copy")
    codes = run.start(f"mount -t tmpfs none {tmp_path / 'run'} && cp -r {copy}/. {tmp_path / 'run'}").end(300)
    assert 0 not in codes
    for said in (run.said(0), run.said(1)):
        assert "(rank 2) does not see what rank 0 writes" in said or "(rank 3) does not see what rank 0 writes" in said
        assert str(tmp_path / "run") in said


def test_a_node_with_an_empty_run_folder_does_not_wait_for_ever(
    nodes: tuple[str, str], encoded: Path, tmp_path: Path
) -> None:
    run = Nodes(nodes, encoded, tmp_path / "run", "torchrun")
    run.start(f"mount -t tmpfs none {tmp_path / 'run'}")
    try:
        assert run.processes[1].wait(SILENT_SECONDS + 200) == 2  # node 0 is not heard of, so long
    finally:
        run.processes[0].terminate()  # it waits for a node that sees its folder
        run.end(60)
    said = run.said(1)
    assert f"node 1 ({socket.gethostname()}) does not see what node 0 has made in {tmp_path / 'run'}" in said
    assert "Traceback" not in said
