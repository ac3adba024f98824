"""What is asked of a launcher that it does not do, or that cannot be, is refused with value, rule and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import job_of, refused

from common.errors import UserError
from hunmin.launch.addresses import parse_address
from hunmin.launch.cluster import Cluster
from hunmin.launch.start import LAUNCHERS, emit
from hunmin.main import run_command
from pretrain.addresses import own_address

PODS = {"image": "a", "claim": "x:/y"}


@pytest.mark.parametrize(
    ("launcher", "asked", "said"),
    [
        ("torchrun", {"environment": "keys.env"}, "--environment is read by slurm and kubernetes and kubeflow alone"),
        ("torchrun", {"time": "1:00:00"}, "--time is read by slurm alone"),
        ("torchrun", {"partition": "gpu"}, "--partition is read by slurm alone"),
        ("torchrun", {"account": "lab"}, "--account is read by slurm alone"),
        ("torchrun", {"image": "a"}, "--image is read by"),
        ("torchrun", {"lines": ("--qos=high",)}, "--line is read by"),
        ("deepspeed", {"restarts": 2}, "DeepSpeed's launcher starts nothing again"),
        ("deepspeed", {"saving": 900}, "--saving is read by"),
        ("kubeflow", {**PODS, "restarts": 2}, "its runtime says how often"),
        ("kubernetes", {**PODS, "address": "n0"}, "--address is read by torchrun and deepspeed alone"),
        ("kubernetes", {**PODS, "partition": "gpu"}, "--partition is read by slurm alone"),
        ("slurm", {"claim": "x:/y"}, "--claim is read by kubernetes and kubeflow alone"),
        ("slurm", {"node": 0}, "--node is read by torchrun and deepspeed and xla alone"),
        ("slurm", {"hosts": ("n0",)}, "--hosts is read by"),
        ("xla", {"address": "n0"}, "leave --address out"),
        ("local", {"restarts": 1}, "--restarts is read by"),
    ],
)
def test_an_option_that_a_launcher_does_not_read_is_refused(launcher: str, asked: dict[str, object], said: str) -> None:
    text = refused(launcher, Cluster(**asked))  # type: ignore[arg-type]
    assert said in text and f"--launcher {launcher} with --" in text


def test_what_is_as_it_would_be_anyway_is_taken() -> None:
    assert emit("deepspeed", job_of(Cluster(restarts=0))) == emit("deepspeed", job_of(Cluster()))
    for launcher in set(LAUNCHERS) - {"kubernetes", "kubeflow"}:
        assert emit(launcher, job_of(Cluster(cpu=True)))


@pytest.mark.parametrize(("nodes", "node"), [(2, 2), (2, 7), (1, 1)])
@pytest.mark.parametrize("launcher", ["torchrun", "deepspeed", "xla"])
def test_a_node_beyond_the_last_one_is_refused(launcher: str, nodes: int, node: int) -> None:
    asked = Cluster(nodes, 8, node=node, hosts=tuple("ab"[:nodes]), address="" if launcher == "xla" else "a")
    text = refused(launcher, asked)
    assert f"--node {node} of --nodes {nodes}" in text and "count from 0" in text and f"last one is {nodes - 1}" in text


def test_the_command_says_so() -> None:
    assert run_command(["launch", "quickstart", "--launcher", "torchrun", "--node", "1", "--dry-run"]) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n0:29400", ("n0", 29400)),
        ("n0", ("n0", 29500)),
        ("10.0.0.1:1", ("10.0.0.1", 1)),
        ("[fd00::1]:29500", ("fd00::1", 29500)),
        ("[fd00::1]", ("fd00::1", 29500)),
        ("my_host.lab.example:65535", ("my_host.lab.example", 65535)),
    ],
)
def test_addresses(text: str, expected: tuple[str, int]) -> None:
    assert parse_address(text) == expected


@pytest.mark.parametrize(
    "text", ["n0:abc", "n0:", "n0:0", "n0:65536", "fd00::1", "fd00::1:29500", "[n0]:1", "[1.2.3.4]:1", ":29500", "a b"]
)
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"HOST:PORT(?s:.*)IPv6 address stands in brackets(?s:.*)\[fd00::1\]:29500"):
        parse_address(text)
    assert f"--address {text}" in refused("torchrun", Cluster(2, 8, address=text))


def test_an_address_of_ipv6_reaches_torchrun_and_deepspeed_as_they_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint
    from torch.distributed.run import get_args_parser

    launch = emit("torchrun", job_of(Cluster(2, 8, address="[fd00::1]:29400")))
    words = next(list(step.words) for step in launch.steps if "pretrain" in step.words)
    read = get_args_parser().parse_args(words[6:])
    assert parse_rendezvous_endpoint(read.rdzv_endpoint, 1) == ("fd00::1", 29400) and read.local_addr == "fd00::1"
    launch = emit("deepspeed", job_of(Cluster(2, 8, address="[fd00::1]:29400", hosts=("a", "b"))))
    words = next(list(step.words) for step in launch.steps if "pretrain" in step.words)
    assert "--master_addr=fd00::1" in words and "--master_port=29400" in words


def test_the_own_address_towards_one_of_ipv6() -> None:
    assert own_address("::1") == "::1"  # this machine itself
    assert own_address("2001:db8::1") != "::1"  # no route, or the address of the interface that leads there


NAMES = ("partition", "account", "time", "environment", "image", "claim", "address", "hosts", "lines")
TAKES = dict.fromkeys(("address", "hosts"), "torchrun") | {"claim": "kubernetes"}


@pytest.mark.parametrize("name", NAMES)
def test_a_line_end_in_an_option_becomes_no_line_of_a_script(name: str) -> None:
    value = "--a\ntouch x\n#"
    asked = {**({"image": "a"} if name == "claim" else {}), name: (value,) if name in ("hosts", "lines") else value}
    with pytest.raises(UserError):
        emit(TAKES.get(name, "slurm"), job_of(Cluster(**asked)))  # type: ignore[arg-type]


def test_a_line_end_in_a_path_becomes_no_line_of_a_script(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\\n" in refused("slurm", Cluster(), path="a\nb.yaml")
    monkeypatch.setattr(Path, "cwd", classmethod(lambda cls: Path("/tmp/x\ntouch y")))
    assert "the current folder" in refused("slurm", Cluster())


@pytest.mark.parametrize("key", ["name", "out"])
def test_a_line_end_in_a_recipe_becomes_no_line_of_a_script(key: str) -> None:
    with pytest.raises(ValueError, match="control character"):
        job_of(Cluster(), **{key: "x\ntouch y\n#"})


def test_no_command_imports_what_lies_in_the_current_folder() -> None:
    """`python -m` and torchrun's processes have that folder first in sys.path."""
    asked: dict[str, Cluster] = {
        "local": Cluster(), "torchrun": Cluster(2, 8, address="n0"), "slurm": Cluster(), "xla": Cluster(),
        "deepspeed": Cluster(2, 8, address="n0", hosts=("a", "b")), "kubernetes": Cluster(image="a", claim="x:/y"),
        "kubeflow": Cluster(image="a", claim="x:/y"),
    }  # fmt: skip
    assert set(asked) == set(LAUNCHERS)
    for launcher, cluster in asked.items():
        launch = emit(launcher, job_of(cluster))
        text = " ".join(launch.files.values())
        lines = [str(step) for step in launch.steps]
        lines += [" ".join(text.replace(" - ", " ").split())] if cluster.image else text.splitlines()
        starts = [line for line in lines if "hunmin.main" in line]
        assert starts and all("env PYTHONSAFEPATH=1" in line.partition("hunmin.main")[0] for line in starts)
