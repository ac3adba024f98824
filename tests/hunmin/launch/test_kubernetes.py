"""Kubernetes: names, paths, what pods ask for, and the same command given again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jobs import job_of, refused

from hunmin.launch.cluster import Cluster
from hunmin.launch.kubernetes import _name
from hunmin.launch.start import emit

LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")  # RFC 1035, as Kubernetes writes it
PODS = Cluster(2, 8, image="a", claim="shared:/work")


def name_of(name: str) -> str:
    return _name(job_of(PODS, name=name))


def test_names() -> None:
    assert name_of("klue-roberta-base") == "klue-roberta-base"  # as it is
    korean = {name_of("한국어"), name_of("국어"), name_of("한국어-2"), name_of("2-한국어")}
    assert len(korean) == 4 and all(LABEL.fullmatch(name) for name in korean)
    assert len({name_of("a_b"), name_of("a.b"), name_of("a-b"), name_of("A-b")}) == 4
    assert LABEL.fullmatch(name_of("2026-base")) and name_of("2026-base").startswith("hunmin-2026-base-")
    assert len({name_of("x" * 60 + "1"), name_of("x" * 60 + "2")}) == 2


@given(st.text(st.characters(exclude_categories=("Cc", "Cf", "Cs", "Z")), min_size=1, max_size=80))
def test_a_name_is_a_label_short_enough_for_the_hosts_of_pods(name: str) -> None:
    found = name_of(name)
    assert LABEL.fullmatch(found)
    assert len(f"{found}-corpus-0-0-xxxxx") <= 63  # the longest pod's


@pytest.mark.parametrize("launcher", ["kubernetes", "kubeflow"])
def test_what_lies_outside_the_volume_is_refused(launcher: str) -> None:
    for out in ("/data/runs/x", "../x", "/workshop/x"):
        text = refused(launcher, PODS, out=out)
        assert f"out {out} with --claim shared:/work" in text and "from /work on" in text
    assert "the recipe /home/me/recipe.yaml" in refused(launcher, PODS, path="/home/me/recipe.yaml")
    for path in ("/work/recipe.yaml", "my/recipe.yaml", "quickstart"):  # the last one comes with the package
        emit(launcher, job_of(PODS, path=path, out="/work/runs/x"))


def test_nothing_of_a_recipe_is_a_variable_of_kubernetes() -> None:
    """`$(NAME)` in a command is replaced by a variable's value, a Secret's among them."""
    name = "a$(HUNMIN_PII_KEY)$$b"
    job = replace(job_of(PODS, name=name, out="runs/$(HUNMIN_PII_KEY)"), overrides=(f"name={name}",))
    for launcher in ("kubernetes", "kubeflow"):
        (text,) = emit(launcher, job).files.values()
        commands = [word for word in _strings(yaml.safe_load(text)) if "HUNMIN_PII_KEY" in word]
        assert commands
        for word in commands:
            assert "$(HUNMIN_PII_KEY)" not in word.replace("$$", "")
        assert "--node-rank=$(JOB_COMPLETION_INDEX)" in text or launcher == "kubeflow"


def test_names_of_replicated_jobs_are_those_that_kubeflow_takes() -> None:
    """Kubeflow Trainer 2.4: at most 20 characters."""
    for launcher in ("kubernetes", "kubeflow"):
        (text,) = emit(launcher, job_of(PODS, name="an-experiment-whose-name-is-rather-long-2026")).files.values()
        names = [one["name"] for held in _values(yaml.safe_load(text), "replicatedJobs") for one in held]
        assert names and all(LABEL.fullmatch(name) and len(name) <= 20 for name in names)


def _values(tree: Any, key: str) -> Iterator[Any]:
    if isinstance(tree, dict):
        if key in tree:
            yield tree[key]
        for each in tree.values():
            yield from _values(each, key)
    for each in tree if isinstance(tree, list) else ():
        yield from _values(each, key)


def _strings(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    for each in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _strings(each)


def spec_of(launcher: str, cluster: Cluster) -> dict[str, Any]:
    (text,) = emit(launcher, job_of(cluster)).files.values()
    spec: dict[str, Any] = yaml.safe_load(text)["spec"]
    return spec


def test_pods_ask_for_what_is_said() -> None:
    lines = ("cpu=32", "train:memory=256Gi", "corpus:cpu=500m")
    asked = Cluster(2, 8, image="a", claim="shared:/work", lines=lines)
    jobs = spec_of("kubernetes", asked)["replicatedJobs"]
    found = [one["template"]["spec"]["template"]["spec"]["containers"][0].get("resources") for one in jobs]
    gpus = {"nvidia.com/gpu": 8}
    assert found == [
        {"requests": {"cpu": "500m"}},
        {"limits": gpus, "requests": {"cpu": "32", "memory": "256Gi"}},
        {"limits": gpus, "requests": {"cpu": "32"}},
    ]
    trainer = spec_of("kubeflow", asked)["trainer"]
    assert trainer["resourcesPerNode"] == {"limits": gpus, "requests": {"cpu": "32", "memory": "256Gi"}}
    for line in ("--qos=high", "cpu", "cpu=", "memory=2 GB", "nvidia.com/gpu=4"):
        refusal = refused("kubernetes", Cluster(image="a", claim="x:/y", lines=(line,)), out="runs/x")
        assert f"--line={line}" in refusal and "RESOURCE=QUANTITY" in refusal


@pytest.mark.parametrize(("launcher", "kind"), [("kubernetes", "jobset"), ("kubeflow", "trainjob")])
def test_the_same_command_again_takes_the_place_of_what_was_there(launcher: str, kind: str) -> None:
    """A JobSet that has ended does nothing when it is applied again, and replicatedJobs cannot be changed."""
    launch = emit(launcher, job_of(PODS, name="base"))
    gone, made = [step.words for step in launch.steps]
    assert gone == ("kubectl", "delete", kind, "base", "--ignore-not-found", "--cascade=foreground")
    assert made == ("kubectl", "apply", "--filename", f"runs/x/launch/{kind}.yaml")


@pytest.mark.parametrize("seconds", [300, 1800])
def test_a_pod_is_killed_after_torchrun_has_ended(seconds: int) -> None:
    asked = Cluster(2, 8, image="a", claim="shared:/work", saving=seconds)
    jobs = spec_of("kubernetes", asked)["replicatedJobs"]
    pod = jobs[1]["template"]["spec"]["template"]["spec"]
    assert f"--shutdown-timeout={seconds}" in pod["containers"][0]["command"]
    assert pod["terminationGracePeriodSeconds"] == seconds + 60
