"""Kubernetes: names, paths, what pods ask for, and the same command given again."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hunmin.launch.cluster import Cluster
from hunmin.launch.kubernetes import _name
from hunmin.launch.start import emit
from tests.hunmin.launch.jobs import job_of, refused

LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")  # RFC 1035, as Kubernetes writes it
PODS: dict[str, Any] = {"nodes": 2, "devices": 8, "image": "a", "volume_claim": "shared:/work"}


def name_of(name: str) -> str:
    return _name(job_of(Cluster(**PODS), name=name))


def test_names() -> None:
    assert name_of("klue-roberta-base") == "klue-roberta-base"  # as it is
    different = ["한국어", "국어", "2-한국어", "a_b", "a.b", "a-b", "A-b", "2026-base", "x" * 60 + "1", "x" * 60 + "2"]
    assert len(set(map(name_of, different))) == len(different)
    assert name_of("2026-base").startswith("hunmin-2026-base-")


@given(st.text(st.characters(exclude_categories=("Cc", "Cf", "Cs", "Z")), min_size=1, max_size=80))
def test_a_name_is_a_label_short_enough_for_the_hosts_of_pods(name: str) -> None:
    label = name_of(name)
    assert LABEL.fullmatch(label) and len(f"{label}-corpus-0-0-xxxxx") <= 63  # the longest pod's


@pytest.mark.parametrize("launcher", ["kubernetes", "kubeflow"])
def test_what_lies_outside_the_volume_is_refused(launcher: str) -> None:
    for out in ("/data/runs/x", "../x", "/workshop/x"):
        text = refused(launcher, Cluster(**PODS), out=out)
        assert f"out {out} with --volume-claim shared:/work" in text and "from /work on" in text
    assert "the recipe /home/me/recipe.yaml" in refused(launcher, Cluster(**PODS), path="/home/me/recipe.yaml")
    for path in ("/work/recipe.yaml", "my/recipe.yaml", "quickstart"):  # the last one comes with the package
        emit(launcher, job_of(Cluster(**PODS), path=path, out="/work/runs/x"))


def spec_of(launcher: str, **asked: Any) -> dict[str, Any]:
    (text,) = emit(launcher, job_of(Cluster(**PODS, **asked))).files.values()
    spec: dict[str, Any] = yaml.safe_load(text)["spec"]
    return spec


def test_a_jobset_restarts_as_a_gang_and_kills_no_checkpoint() -> None:
    (text,) = emit("kubernetes", job_of(Cluster(**PODS, grace_period=1800))).files.values()
    tree = yaml.safe_load(text)
    name, spec = tree["metadata"]["name"], tree["spec"]
    assert spec["failurePolicy"] == {"maxRestarts": 3} and spec["network"]["enableDNSHostnames"]
    corpus, train, scores = spec["replicatedJobs"]
    assert [part.get("dependsOn") for part in (corpus, train, scores)] == [
        None, [{"name": "corpus", "status": "Complete"}], [{"name": "train", "status": "Complete"}]
    ]  # fmt: skip
    assert corpus["template"]["spec"]["completions"] == scores["template"]["spec"]["completions"] == 1
    job = train["template"]["spec"]
    assert job["backoffLimit"] == 0 and job["completions"] == job["parallelism"] == 2
    pod = job["template"]["spec"]
    command = pod["containers"][0]["command"]
    assert "--node-rank=$(JOB_COMPLETION_INDEX)" in command and "--max-restarts=0" in command
    assert f"--master-addr={name}-train-0-0.{name}" in command  # JobSet: NAME-JOB-0-INDEX.NAME
    assert "--log-dir=runs/x/logs/ranks/node-$(JOB_COMPLETION_INDEX)" in command
    # torchrun has ended before its pod is killed
    assert "--shutdown-timeout=1800" in command and pod["terminationGracePeriodSeconds"] == 1860
    assert {"name": "shm", "emptyDir": {"medium": "Memory"}} in pod["volumes"]
    assert corpus["template"]["spec"]["template"]["spec"]["containers"][0]["command"][:3] == [
        "hunmin",
        "run",
        "recipe.yaml",
    ]


@pytest.mark.parametrize(("launcher", "kind"), [("kubernetes", "jobset"), ("kubeflow", "trainjob")])
def test_the_same_command_again_takes_the_place_of_what_was_there(launcher: str, kind: str) -> None:
    """A JobSet that has ended does nothing when it is applied again, and replicatedJobs cannot be changed."""
    gone, made = emit(launcher, job_of(Cluster(**PODS), name="base")).steps
    assert str(gone) == f"kubectl delete {kind} base --ignore-not-found --cascade=foreground"
    assert str(made) == f"kubectl apply --filename runs/x/launch/{kind}.yaml"


def test_pods_ask_for_what_is_said() -> None:
    lines = ("cpu=32", "train:memory=256Gi", "corpus:cpu=500m")
    jobs = spec_of("kubernetes", scheduler_options=lines)["replicatedJobs"]
    resources = [job["template"]["spec"]["template"]["spec"]["containers"][0].get("resources") for job in jobs]
    gpus = {"nvidia.com/gpu": 8}
    assert resources == [
        {"requests": {"cpu": "500m"}},
        {"limits": gpus, "requests": {"cpu": "32", "memory": "256Gi"}},
        {"limits": gpus, "requests": {"cpu": "32"}},
    ]
    trainer = spec_of("kubeflow", scheduler_options=lines)["trainer"]
    assert trainer["resourcesPerNode"] == {"limits": gpus, "requests": {"cpu": "32", "memory": "256Gi"}}
    assert "resourcesPerNode" not in spec_of("kubeflow", cpu=True)["trainer"]
    for line in ("--qos=high", "cpu", "cpu=", "memory=2 GB", "trian:cpu=2"):
        refusal = refused("kubernetes", Cluster(**PODS, scheduler_options=(line,)))
        assert f"--scheduler-option={line}" in refusal and "RESOURCE=QUANTITY" in refusal
