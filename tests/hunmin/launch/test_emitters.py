"""What `hunmin launch` would write and run: golden files, and each read by the parser of the engine it is meant for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from jobs import job_of

from common.errors import UserError
from hunmin.launch.cluster import Cluster, Launch, parse_nodes
from hunmin.launch.start import LAUNCHERS, emit, show
from hunmin.main import run_command

GOLDEN = Path(__file__).parent / "golden"
CASES: dict[str, tuple[str, Cluster]] = {
    "local": ("local", Cluster(devices=2)),
    "torchrun-1": ("torchrun", Cluster(devices=2)),
    "torchrun-2": ("torchrun", Cluster(2, 8, address="n0:29400", restarts=5)),
    "torchrun-elastic": ("torchrun", Cluster(2, 8, address="n0:29400", fewest=1)),
    "deepspeed": ("deepspeed", Cluster(2, 4, address="n0", hosts=("n0", "n1"))),
    "slurm": (
        "slurm",
        Cluster(
            4,
            8,
            partition="gpu",
            account="lab",
            time="24:00:00",
            lines=("--qos=high", "corpus:--partition=cpu"),
            environment="keys.env",
        ),
    ),
    "slurm-container": ("slurm", Cluster(2, 1, cpu=True, image="registry/hunmin:1")),
    "kubernetes": (
        "kubernetes",
        Cluster(
            4, 8, image="hunmin:1", claim="shared:/work", environment="keys", lines=("cpu=32", "train:memory=256Gi")
        ),
    ),
    "kubeflow": ("kubeflow", Cluster(2, 8, image="hunmin:1", claim="shared:/work")),
    "xla-1": ("xla", Cluster(devices=8)),
    "xla-4": ("xla", Cluster(4, 4, hosts=("t0", "t1", "t2", "t3"))),
}


@pytest.fixture(autouse=True)
def _somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "cwd", classmethod(lambda cls: Path("/shared/work")))


def emitted(name: str) -> Launch:
    launcher, cluster = CASES[name]
    return emit(launcher, job_of(cluster))


@pytest.mark.parametrize("name", CASES)
def test_files_and_commands_are_the_golden_ones(name: str) -> None:
    """To accept a change: UPDATE_GOLDEN=1 pytest tests/hunmin/launch, and read the difference."""
    file, found = GOLDEN / f"{name}.txt", show(emitted(name))
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(found)
    assert found == file.read_text()


def words_of(launch: Launch, where: str) -> list[str]:
    (words,) = [list(step.words) for step in launch.steps if step.where == where and "pretrain" in step.words]
    return words


@pytest.mark.parametrize("node", [0, 1])
def test_torchruns_own_parser_reads_the_command(node: int) -> None:
    from torch.distributed.run import get_args_parser, parse_min_max_nnodes

    words = words_of(emitted("torchrun-2"), f"node {node}")
    assert words[0] == "env" and words[3:6] == ["python", "-m", "torch.distributed.run"]
    read = get_args_parser().parse_args(words[6:])
    assert parse_min_max_nnodes(read.nnodes) == (2, 2) and read.nproc_per_node == "8" and read.max_restarts == 5
    assert read.rdzv_endpoint == "n0:29400" and f"is_host={int(node == 0)}," in read.rdzv_conf and read.module
    assert read.local_addr == ("n0" if node == 0 else "ADDRESS_OF_NODE_1")
    assert (read.training_script, read.training_script_args) == (
        "hunmin.main", ["pretrain", "recipe.yaml", "seed=7", "name=My Run"]
    )  # fmt: skip


def test_deepspeeds_own_parser_reads_command_and_hostfile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    from deepspeed.launcher import runner

    launch = emitted("deepspeed")
    words = words_of(launch, "node 1")
    assert words[:5] == ["env", "PYTHONSAFEPATH=1", "python", "-m", "deepspeed.launcher.runner"]
    read = runner.parse_args(words[5:])
    assert (read.no_ssh, read.node_rank, read.master_addr, read.master_port) == (True, 1, "n0", 29500) and read.module
    assert (read.user_script, read.user_args) == ("hunmin.main", ["pretrain", "recipe.yaml", "seed=7", "name=My Run"])
    (text,) = launch.files.values()
    (tmp_path / "hostfile").write_text(text)
    assert dict(runner.fetch_hostfile(str(tmp_path / "hostfile"))) == {"n0": 4, "n1": 4}


@pytest.mark.parametrize(
    ("name", "kind"), [("kubernetes", "JobsetV1alpha2JobSet"), ("kubeflow", "TrainerV1alpha1TrainJob")]
)
def test_the_apis_own_models_read_the_manifest_and_know_every_key(name: str, kind: str) -> None:
    models = pytest.importorskip("kubeflow_trainer_api.models")
    (text,) = emitted(name).files.values()
    tree = yaml.safe_load(text)
    # what a model does not know is lost on the way through it
    model = getattr(models, kind)
    assert model.from_dict(tree).to_dict() == tree
    tree["spec"]["replicas"] = 1
    assert model.from_dict(tree).to_dict() != tree


def test_a_jobset_restarts_as_a_gang_and_kills_no_checkpoint() -> None:
    (text,) = emitted("kubernetes").files.values()
    spec = yaml.safe_load(text)["spec"]
    assert spec["failurePolicy"] == {"maxRestarts": 3} and spec["network"]["enableDNSHostnames"]
    corpus, train, scores = spec["replicatedJobs"]
    assert [part.get("dependsOn") for part in (corpus, train, scores)] == [
        None, [{"name": "corpus", "status": "Complete"}], [{"name": "train", "status": "Complete"}]
    ]  # fmt: skip
    job = train["template"]["spec"]
    assert job["backoffLimit"] == 0 and job["completions"] == job["parallelism"] == 4
    pod = job["template"]["spec"]
    command = pod["containers"][0]["command"]
    assert "--node-rank=$(JOB_COMPLETION_INDEX)" in command
    name = yaml.safe_load(text)["metadata"]["name"]
    assert f"--master-addr={name}-train-0-0.{name}" in command  # JobSet: NAME-JOB-0-INDEX.NAME
    assert "--log-dir=runs/x/logs/ranks/node-$(JOB_COMPLETION_INDEX)" in command
    (seconds,) = [int(word.partition("=")[2]) for word in command if word.startswith("--shutdown-timeout")]
    assert seconds < pod["terminationGracePeriodSeconds"]
    assert {"name": "shm", "emptyDir": {"medium": "Memory"}} in pod["volumes"]


@pytest.mark.parametrize(("name", "nodes"), [("xla-1", 1), ("xla-4", 4)])
def test_a_tpu_host_hands_torchtpus_variables_to_torchrun(
    name: str, nodes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script is run with a Python that prints variables where TorchTPU would, and else what it was called with."""
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/bash\nif [ "$2" = torch.tpu.distributed ]; then\n'
        'echo TORCH_TPU_TOPOLOGY=\\"4x4\\"; echo TORCH_TPU_SLICEBUILDER_ADDRESSES=\\"t0:1,t1:1\\"\n'
        'echo MASTER_ADDR=\\"${TPU_WORKER_HOSTNAMES%%,*}\\"; echo MASTER_PORT=\\"29500\\"\n'
        'else printf "%s\\n" "$TORCH_TPU_SLICEBUILDER_ADDRESSES" "$@"; fi\n'
    )
    python.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("TORCH_TPU_TOPOLOGY", "4x4")
    launch = emitted(name)
    ((_, text),) = launch.files.items()
    script = tmp_path / "tpu.sh"
    script.write_text(text)
    for node in range(nodes):
        (words,) = [list(s.words) for s in launch.steps if s.where == f"node {node}" and "bash" in s.words]
        assert words[-2:] == ["bash", "runs/x/launch/tpu.sh"]
        done = subprocess.run([*words[:-1], str(script)], capture_output=True, text=True, check=True)
        addresses, *called = done.stdout.splitlines()
        assert addresses == "t0:1,t1:1" and called[:2] == ["-m", "torch.distributed.run"]
        from torch.distributed.run import get_args_parser

        read = get_args_parser().parse_args(called[2:])
        assert (read.training_script, read.training_script_args[:2]) == ("hunmin.main", ["pretrain", "recipe.yaml"])
        if nodes == 1:
            assert read.standalone and read.nproc_per_node == "8"
        else:
            assert (read.nnodes, read.node_rank, read.master_addr, read.master_port) == ("4", node, "t0", 29500)
    monkeypatch.delenv("TORCH_TPU_TOPOLOGY")
    done = subprocess.run([*words[:-1], str(script)], capture_output=True, text=True)
    assert (done.returncode == 0) == (nodes == 1) and ("whole slice" in done.stderr) == (nodes > 1)


def test_what_a_launcher_lacks_is_refused() -> None:
    def refused(launcher: str, cluster: Cluster, **pretrain: Any) -> str:
        with pytest.raises(UserError) as caught:
            emit(launcher, job_of(cluster, **pretrain))
        return str(caught.value)

    assert "--nodes 2" in refused("local", Cluster(2))
    assert "--address HOST:PORT" in refused("torchrun", Cluster(2))
    assert "--hosts" in refused("deepspeed", Cluster(2, address="n0"))
    assert "--claim CLAIM:/PATH" in refused("kubernetes", Cluster(image="a", claim="x"))
    assert "--image" in refused("kubernetes", Cluster(claim="x:/y"))
    assert "Secret" in refused("kubeflow", Cluster(image="a", claim="x:/y", environment="keys"))
    assert "did you mean 'slurm'" in refused("slrum", Cluster())
    assert "one for each host, in the order of the slice's workers" in refused("xla", Cluster(2, hosts=("t0",)))
    assert "must be divisible by micro_batch × processes" in refused("slurm", Cluster(3, 8))
    # 256 samples in micro-batches of 8 are 32: processes of 2 and 4 nodes share them, those of 3 do not
    elastic = refused("torchrun", Cluster(4, 8, address="n0", fewest=2))
    assert "--nodes 2:4, with 3 nodes: pretrain.global_batch (256)" in elastic and "8 × 24 = 192" in elastic
    for launcher in set(LAUNCHERS) - {"torchrun"}:
        text = refused(launcher, Cluster(2, 8, fewest=1, address="n0", hosts=("n0", "n1"), image="a", claim="x:/y"))
        assert f"--launcher {launcher} with --nodes 1:2" in text and "give --nodes 2" in text
    assert set(LAUNCHERS) == {"local", "torchrun", "deepspeed", "slurm", "kubernetes", "kubeflow", "xla"}


@pytest.mark.parametrize(("text", "expected"), [("2", (0, 2)), ("2:4", (2, 4)), ("3:3", (0, 3)), ("8:16", (8, 16))])
def test_nodes_are_a_number_or_a_range(text: str, expected: tuple[int, int]) -> None:
    from torch.distributed.run import parse_min_max_nnodes

    assert parse_nodes(text) == expected
    assert (expected[0] or expected[1], expected[1]) == parse_min_max_nnodes(text)


@pytest.mark.parametrize("text", ["", "0", "-1", "two", "4:2", "0:2", "1:2:3", ":2", "2:", "1 : 2"])
def test_other_nodes_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="MIN:MAX"):
        parse_nodes(text)


def test_several_nodes_need_a_number_and_a_dry_run_writes_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        f"name: x\nout: {tmp_path}/run\ncorpus: {{inputs: [a]}}\nklue: {{data: k}}\n"
        "pretrain: {global_batch: 4, micro_batch: 2}\n"
    )
    command = ["launch", str(recipe), "--launcher", "torchrun", "--nodes", "2", "--address", "n0"]
    assert run_command([*command, "--dry-run"]) == 0
    shown = capfd.readouterr()
    assert "--nnodes=2" in shown.out and not (tmp_path / "run").exists()
    assert "here this would be refused: nothing found at a" in shown.err
    for name in ("a", "k"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.jsonl").write_text('{"text": "가"}')
    command[2:2] = [f"corpus.inputs=[{tmp_path}/a/*]", f"klue.data={tmp_path}/k"]
    assert run_command(command) == 2 and "--node 0 on the first" in capfd.readouterr().err
