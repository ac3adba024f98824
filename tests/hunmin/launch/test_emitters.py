"""What `hunmin launch` would write and run, read by the parser of the engine it is meant for."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from hunmin.launch.cluster import Cluster, Launch
from hunmin.launch.start import LAUNCHERS, emit
from hunmin.main import run_command
from tests.hunmin.launch.jobs import job_of, words_of

CASES = {
    "local": Cluster(devices=2),
    "torchrun": Cluster(2, 8, address="n0:29400", restarts=5, fewest=1),
    "deepspeed": Cluster(2, 4, address="n0", hosts=("n0", "n1")),
    "slurm": Cluster(4, 8, partition="gpu", account="lab", env_file="keys.env", image="registry/hunmin:1"),
    "kubernetes": Cluster(
        4, 8, image="hunmin:1", volume_claim="shared:/work", env_file="keys", scheduler_options=("train:cpu=32",)
    ),
    "kubeflow": Cluster(2, 8, image="hunmin:1", volume_claim="shared:/work"),
    "xla": Cluster(2, 4, hosts=("t0", "t1")),
}
RUN = ["hunmin.main", "pretrain", "recipe.yaml", "seed=7", "name=My Run"]


def emitted(launcher: str) -> Launch:
    return emit(launcher, job_of(CASES[launcher]))


@pytest.mark.parametrize("launcher", ["torchrun", "deepspeed", "xla"])
def test_node_0_alone_does_what_comes_before_and_after(launcher: str) -> None:
    steps = emitted(launcher).steps
    assert set(CASES) == set(LAUNCHERS)
    nodes = [f"node {node}" for node in range(CASES[launcher].nodes)]
    assert [step.where for step in steps] == ["node 0", *nodes, "node 0"]
    hunmin = "env PYTHONSAFEPATH=1 python -m hunmin.main run recipe.yaml seed=7 'name=My Run'"
    assert [str(steps[0]), str(steps[-1])] == [f"{hunmin} --until encode", f"{hunmin} --from export"]
    assert [*map(str, emitted("local").steps)] == [f"{hunmin} pretrain.processes=2"]
    assert [*map(str, emit("local", job_of(Cluster(), processes=2)).steps)] == [hunmin]  # as the recipe says


@pytest.mark.parametrize(
    ("asked", "nodes", "endpoint"),
    [
        (CASES["torchrun"], (1, 2), ("n0", 29400)),
        (Cluster(2, 8, address="[fd00::1]:29400"), (2, 2), ("fd00::1", 29400)),
        (Cluster(devices=2), (1, 1), None),
    ],
)
def test_torchruns_own_parser_reads_the_command(
    asked: Cluster, nodes: tuple[int, int], endpoint: tuple[str, int] | None
) -> None:
    from torch.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint
    from torch.distributed.run import get_args_parser, parse_min_max_nnodes

    for node in range(nodes[1]):
        words = words_of(emit("torchrun", job_of(asked)), node)
        assert words[1:3] == ["PYTHONSAFEPATH=1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"]
        assert words[3:6] == ["python", "-m", "torch.distributed.run"]
        read = get_args_parser().parse_args(words[6:])
        assert parse_min_max_nnodes(read.nnodes) == nodes and read.nproc_per_node == str(asked.devices)
        assert (read.max_restarts, read.shutdown_timeout, read.module) == (asked.restarts, asked.grace_period, True)
        assert read.log_dir == f"runs/x/logs/ranks/node-{node}" and read.standalone == (endpoint is None)
        assert [read.training_script, *read.training_script_args] == RUN and (read.redirects, read.tee) == ("3", "0:3")
        if endpoint:
            assert parse_rendezvous_endpoint(read.rdzv_endpoint, 1) == endpoint
            assert f"is_host={int(node == 0)}," in read.rdzv_conf
            assert read.local_addr == (endpoint[0] if node == 0 else "ADDRESS_OF_NODE_1")


def test_deepspeeds_own_parser_reads_command_and_hostfile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    from deepspeed.launcher import runner

    launch = emitted("deepspeed")
    words = words_of(launch, 1)
    assert words[2:5] == ["python", "-m", "deepspeed.launcher.runner"]
    read = runner.parse_args(words[5:])
    assert (read.no_ssh, read.node_rank, read.master_addr, read.master_port) == (True, 1, "n0", 29500) and read.module
    assert read.force_multi and read.no_local_rank and read.enable_each_rank_log == "runs/x/logs/ranks"
    assert [read.user_script, *read.user_args] == RUN
    ((path, text),) = launch.files.items()
    assert read.hostfile == str(path)
    (tmp_path / "hostfile").write_text(text)
    assert dict(runner.fetch_hostfile(str(tmp_path / "hostfile"))) == {"n0": 4, "n1": 4}


@pytest.mark.parametrize(
    ("launcher", "kind"), [("kubernetes", "JobsetV1alpha2JobSet"), ("kubeflow", "TrainerV1alpha1TrainJob")]
)
def test_the_apis_own_models_read_the_manifest_and_know_every_key(launcher: str, kind: str) -> None:
    models = pytest.importorskip("kubeflow_trainer_api.models")
    (text,) = emitted(launcher).files.values()
    tree = yaml.safe_load(text)
    # what a model does not know is lost on the way through it
    model = getattr(models, kind)
    assert model.from_dict(tree).to_dict() == tree
    tree["spec"]["replicas"] = 1
    assert model.from_dict(tree).to_dict() != tree


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_tpu_host_hands_torchtpus_variables_to_torchrun(
    nodes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script is run with a Python that prints variables where TorchTPU would, and else what it was called with."""
    from torch.distributed.run import get_args_parser

    python = tmp_path / "python"
    python.write_text(
        '#!/bin/bash\nif [ "$2" = torch.tpu.distributed ]; then\n'
        'echo TORCH_TPU_SLICEBUILDER_ADDRESSES=\\"t0:1,t1:1\\"; echo MASTER_PORT=\\"29500\\"\n'
        'echo MASTER_ADDR=\\"${TPU_WORKER_HOSTNAMES%%,*}\\"\n'
        'else printf "%s\\n" "$TORCH_TPU_SLICEBUILDER_ADDRESSES" "$@"; fi\n'
    )
    python.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("TORCH_TPU_TOPOLOGY", "4x4")
    launch = emitted("xla") if nodes > 1 else emit("xla", job_of(Cluster(devices=4)))
    ((path, text),) = launch.files.items()
    (script := tmp_path / path.name).write_text(text)
    for node in range(nodes):
        words = words_of(launch, node)
        assert words[-2:] == ["bash", str(path)]
        done = subprocess.run([*words[:-1], str(script)], capture_output=True, text=True, check=True)
        addresses, *called = done.stdout.splitlines()
        assert addresses == "t0:1,t1:1" and called[:2] == ["-m", "torch.distributed.run"]
        read = get_args_parser().parse_args(called[2:])
        assert [read.training_script, *read.training_script_args] == RUN and read.nproc_per_node == "4"
        assert read.log_dir == f"runs/x/logs/ranks/node-{node}" and read.standalone == (nodes == 1)
        if nodes > 1:
            assert (read.nnodes, read.node_rank, read.master_addr, read.master_port) == ("2", node, "t0", 29500)
    monkeypatch.delenv("TORCH_TPU_TOPOLOGY")
    done = subprocess.run([*words[:-1], str(script)], capture_output=True, text=True)
    assert (done.returncode == 0) == (nodes == 1) and ("whole slice" in done.stderr) == (nodes > 1)


@pytest.mark.parametrize("launcher", CASES)
def test_names_stay_what_they_are_in_every_language(launcher: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spaces, quotes, and what a shell, Jinja, Slurm or Kubernetes would put something else in the place of."""
    odd = "a 'b' \"c\" $(id) $HOME {{ nodes }} \\ # 100% 김😀"
    monkeypatch.setattr(Path, "cwd", classmethod(lambda cls: Path("/work/my # runs")))
    job = replace(job_of(CASES[launcher], name=odd, out=f"runs/{odd}"), overrides=(f"name={odd}",))
    launch = emit(launcher, job)
    words = [word for step in launch.steps for word in step.words]
    for path, text in launch.files.items():
        if path.suffix == ".yaml":
            strings = list(_strings(yaml.safe_load(text)))
            assert not any("$(id)" in word.replace("$$", "") for word in strings)  # Kubernetes would fill it in
            strings = [word.replace("$$", "$") for word in strings]
            words += [part for word in strings for part in (shlex.split(word) if word.startswith("cd ") else [word])]
        elif path.suffix == ".sh":
            assert subprocess.run(["bash", "-n"], input=text, text=True).returncode == 0
            if shellcheck := shutil.which("shellcheck"):
                subprocess.run([shellcheck, "--severity=warning", "-"], input=text, text=True, check=True)
            words += shlex.split(text, comments=True)
    assert (f"name={odd}" in words and any(f"runs/{odd}/l" in word for word in words)) or launcher == "local"


def _strings(tree: object) -> list[str]:
    if isinstance(tree, str):
        return [tree]
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return [word for part in parts for word in _strings(part)]


@pytest.mark.parametrize("launcher", CASES)
def test_no_command_imports_what_lies_in_the_current_folder(launcher: str) -> None:
    """`python -m` and torchrun's processes have that folder first in sys.path."""
    launch = emitted(launcher)
    texts = [text.replace('", "', " ").replace("\\\n", "") for text in launch.files.values()]
    lines = [*map(str, launch.steps), *(line for text in texts for line in text.splitlines())]
    starts = [line for line in lines if "hunmin.main" in line]
    assert starts and all("env PYTHONSAFEPATH=1" in line.partition("hunmin.main")[0] for line in starts)


def test_several_nodes_need_a_number_and_a_dry_run_writes_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        f"name: x\nout: {tmp_path}/run\ncorpus: {{inputs: [a]}}\nklue: {{data: k}}\n"
        "pretrain: {global_batch: 4, micro_batch: 2}\n"
    )
    command = ["launch", str(recipe), "--launcher", "torchrun", "--nodes", "2", "--address", "n0"]
    assert run_command([*command, "--dry-run"]) == 2
    shown = capfd.readouterr()
    assert "--nnodes=2" in shown.out and not (tmp_path / "run").exists()
    assert "error: nothing found at a" in shown.err
    for name in ("a", "k"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.jsonl").write_text('{"text": "가"}')
    command[2:2] = [f"corpus.inputs=[{tmp_path}/a/*]", f"klue.data={tmp_path}/k"]
    assert run_command([*command, "--dry-run"]) == 0
    assert run_command(command) == 2 and "--node 0 on the first" in capfd.readouterr().err
