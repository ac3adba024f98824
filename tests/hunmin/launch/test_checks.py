"""What a launcher does not do, what cannot be, and what `hunmin run` would refuse is refused before a job is queued."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from common.errors import HunminError, UserError
from hunmin.launch.checks import check_run, warning
from hunmin.launch.cluster import Cluster, parse_address, parse_nodes
from hunmin.launch.start import LAUNCHERS, emit, start
from hunmin.main import run_command
from hunmin.recipes.recipe import save_recipe
from tests.hunmin.house import House
from tests.hunmin.launch.jobs import job_of, refused

KEY = "HUNMIN_PII_KEY"
PODS = {"image": "a", "volume_claim": "x:/y"}
TWO = {"nodes": 2, "devices": 8, "address": "n0", "hosts": ("n0", "n1")}


@pytest.mark.parametrize(
    ("launcher", "asked", "said"),
    [
        ("torchrun", {"env_file": "keys.env"}, "--env-file is taken by slurm and kubernetes alone"),
        ("torchrun", {"time": "1:00:00"}, "--time is taken by slurm alone"),
        ("torchrun", {"image": "a"}, "--image is taken by"),
        ("torchrun", {"scheduler_options": ("--qos=high",)}, "--scheduler-option is taken by"),
        ("deepspeed", {"restarts": 2}, "--restarts is taken by torchrun and slurm and kubernetes and xla alone"),
        ("deepspeed", {"grace_period": 900}, "--grace-period is taken by"),
        ("kubeflow", {**PODS, "restarts": 2}, "--restarts is taken by"),
        ("kubeflow", {**PODS, "env_file": "keys"}, "--env-file is taken by"),
        ("kubernetes", {**PODS, "partition": "gpu"}, "--partition is taken by slurm alone"),
        ("kubernetes", {**PODS, "address": "n0"}, "--address is taken by torchrun and deepspeed alone"),
        ("slurm", {"volume_claim": "x:/y"}, "--volume-claim is taken by kubernetes and kubeflow alone"),
        ("slurm", {"node": 0}, "--node is taken by torchrun and deepspeed and xla alone"),
        ("slurm", {"nodes": 2, "fewest": 1}, "--nodes MIN:MAX, is taken by torchrun alone"),
        ("xla", {"address": "n0"}, "--address is taken by"),
        ("local", {"nodes": 2}, "--nodes is taken by"),
        ("slrum", {}, "did you mean 'slurm'"),
        ("torchrun", {"nodes": 2}, "--address HOST:PORT"),
        ("deepspeed", {"nodes": 2, "address": "n0"}, "--hosts NAME,NAME"),
        ("xla", {"nodes": 2, "hosts": ("t0",)}, "--hosts NAME,NAME"),
        ("kubernetes", {"image": "a", "volume_claim": "x"}, "--volume-claim CLAIM:/PATH"),
        ("kubeflow", {"volume_claim": "x:/y"}, "--image NAME:TAG"),
        ("torchrun", {**TWO, "node": 2}, "--node 2 of --nodes 2"),
        ("xla", {"node": 1}, "the last one is 0"),
        ("slurm", {"nodes": 3, "devices": 8}, "must be divisible by the processes (24)"),
        # 256 samples in micro-batches of 8 are 32: processes of 2 and 4 nodes share them, those of 3 do not
        ("torchrun", {"nodes": 4, "devices": 8, "address": "n0", "fewest": 2}, "--nodes 2:4, with 3 nodes: pretrain.g"),
        ("slurm", {"scheduler_options": ("--comment=hf_" + "x" * 34,)}, "a secret is not"),
    ],
)
def test_what_cannot_be_is_refused(launcher: str, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        emit(launcher, job_of(Cluster(**asked)))
    assert said in str(caught.value) and caught.value.rule and "x" * 34 not in str(caught.value)


def test_what_is_as_it_would_be_anyway_is_taken() -> None:
    assert emit("deepspeed", job_of(Cluster(restarts=0))) == emit("deepspeed", job_of(Cluster()))
    for launcher in LAUNCHERS:
        assert emit(launcher, job_of(Cluster(cpu=True, **(PODS if launcher.startswith("kube") else {}))))
    assert run_command(["launch", "quickstart", "--launcher", "torchrun", "--node", "1", "--dry-run"]) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n0:29400", ("n0", 29400)),
        ("10.0.0.1", ("10.0.0.1", 29500)),
        ("[fd00::1]:1", ("fd00::1", 1)),
        ("[fd00::1]", ("fd00::1", 29500)),
        ("my_host.lab.example:65535", ("my_host.lab.example", 65535)),
        *((text, None) for text in ("n0:abc", "n0:", "n0:0", "n0:65536", "fd00::1", "[n0]:1", "[1.2.3.4]:1", "a b")),
    ],
)
def test_addresses(text: str, expected: tuple[str, int] | None) -> None:
    if expected:
        assert parse_address(text) == expected
    else:
        assert "IPv6 address stands in brackets" in refused("torchrun", Cluster(2, 8, address=text))


def test_nodes_are_a_number_or_a_range() -> None:
    from torch.distributed.run import parse_min_max_nnodes

    for text, expected in (("2", (0, 2)), ("2:4", (2, 4)), ("3:3", (0, 3)), ("8:16", (8, 16))):
        assert parse_nodes(text) == expected
        assert (expected[0] or expected[1], expected[1]) == parse_min_max_nnodes(text)
    for text in ("", "0", "-1", "two", "4:2", "0:2", "1:2:3", ":2", "2:", "1 : 2"):
        with pytest.raises(UserError, match="MIN:MAX"):
            parse_nodes(text)


@pytest.mark.parametrize(
    "name", ["partition", "account", "time", "env_file", "image", "scheduler_options", "path", "cwd"]
)
def test_a_line_end_becomes_no_line_of_a_script(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value = "--a\ntouch x\n#"
    if name == "cwd":
        monkeypatch.setattr(Path, "cwd", classmethod(lambda cls: Path(value)))
    asked = {} if name in ("path", "cwd") else {name: (value,) if name == "scheduler_options" else value}
    assert r"\ntouch x\n" in refused("slurm", Cluster(**asked), path=value if name == "path" else "recipe.yaml")  # type: ignore[arg-type]
    for key in ("name", "out"):
        with pytest.raises(ValueError, match="control character"):
            job_of(Cluster(), **{key: value})  # type: ignore[arg-type]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(KEY, raising=False)
    return tmp_path


def test_inputs_that_are_not_there_are_refused_where_they_can_be_known(here: Path) -> None:
    def refusal(**asked: str) -> str:
        try:
            check_run("slurm", job_of(Cluster(**asked), **sources))  # type: ignore[arg-type]
        except HunminError as error:
            return str(error)
        return ""

    sources: dict[str, Any] = {}
    with pytest.raises(UserError, match="nothing found at a"):
        start("torchrun", job_of(Cluster()), emit("torchrun", job_of(Cluster())))
    assert not (here / "runs").exists()
    check_run("kubernetes", job_of(Cluster(image="a", volume_claim="x:/y")))  # pods see other files
    (here / "a").write_text("가")
    (here / "klue").mkdir()
    assert "klue" in refusal()  # no file in it
    (here / "klue" / "x.json").write_text("{}")
    assert refusal() == "" and "keys.env: no such file" in refusal(env_file="keys.env")
    for far in ("https://text.example.com/a.jsonl", "hf:me/texts"):
        job = job_of(Cluster())
        job.recipe.corpus.inputs[:] = [far]
        check_run("slurm", job)
        job.recipe.corpus.inputs[:] = [far, "b.jsonl"]
        with pytest.raises(UserError, match=r"nothing found at b\.jsonl"):
            check_run("slurm", job)


def test_a_key_that_does_not_reach_the_run_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pods, named = Cluster(image="a", volume_claim="x:/y"), Cluster(env_file="keys.env")
    for launcher, cluster, fix in (("slurm", Cluster(), "--env-file"), ("kubernetes", pods, "a Secret")):
        assert KEY in warning(launcher, job_of(cluster)) and fix in warning(launcher, job_of(cluster))
    assert not warning("slurm", job_of(named)) and not warning("kubernetes", job_of(named))
    monkeypatch.setenv(KEY, "0" * 32)
    assert not warning("slurm", job_of(Cluster())) and warning("kubernetes", job_of(pods))


@pytest.mark.parametrize("launcher", ["local", "torchrun", "slurm"])
def test_a_launch_and_its_dry_run_refuse_to_replace_finished_work(
    launcher: str, house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Training took an hour; the scores after it are made anew by every launch but a local one."""
    monkeypatch.setenv(KEY, "0" * 32)
    monkeypatch.setattr("hunmin.pipeline.redo.LONG_SECONDS", -1.0)
    monkeypatch.setattr("hunmin.launch.start.run_child", lambda words, until: 0)
    house.change("b", name="pretrain")
    house.change("c", after=("a", "pretrain"), settings=lambda recipe: {"seeds": recipe.klue.seeds})
    house.go()
    save_recipe(house.recipe(), house.folder / "recipe.yaml")
    command = ["launch", str(house.folder / "recipe.yaml"), "--launcher", launcher]
    for change, message in (
        ("pretrain.optimizer.learning_rate=0.0003", "lr: 0.0001 → 0.0003"),
        ("klue.seeds=3", "seeds: [42] → 3" if launcher == "local" else ""),
    ):
        for dry in (["--dry-run"], []):
            assert run_command([*command, change, *dry]) == (2 if message else 0)
            said = capsys.readouterr()
            assert bool(said.out) == bool(dry) and message in said.err
            assert ("this run would do the stage" in said.err) == bool(message)
    monkeypatch.delenv(KEY)
    assert run_command([*command, "pretrain.optimizer.learning_rate=0.0003", "--dry-run"]) == 0
    assert f"{KEY} is not set here: whether finished stages fit the recipe is unchecked" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_first_launch_reads_no_input(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashing what may be terabytes is for the job, not for the machine that submits it."""
    monkeypatch.setenv(KEY, "0" * 32)
    monkeypatch.setattr("hunmin.pipeline.state.sha256_file", lambda path: pytest.fail("an input was hashed"))
    save_recipe(house.recipe(), house.folder / "recipe.yaml")
    (house.run / "launch").mkdir(parents=True)
    assert run_command(["launch", str(house.folder / "recipe.yaml"), "--launcher", "slurm", "--dry-run"]) == 0
