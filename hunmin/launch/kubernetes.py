"""Kubernetes: a JobSet whose three Jobs follow one another, or a TrainJob of Kubeflow for training alone."""

from __future__ import annotations

import re
import shlex
from typing import Any

import yaml

from common.errors import UserError
from hunmin.launch.cluster import Job, Launch, Step
from hunmin.launch.torchrun import STOP_SECONDS, rank_logs

PORT = 29500
GRACE_SECONDS = STOP_SECONDS + 60
"""From the signal to a pod until it is killed: torchrun's own limit comes first."""


def jobset(job: Job) -> Launch:
    """Return a JobSet (v1alpha2): corpus, training and scores, each begun when the one before it is complete.

    A failure of any training pod restarts them all, up to `restarts` times: they go on from the last checkpoint.
    """
    cluster, name = job.cluster, _name(job)
    # JobSet names the pods' hosts: JOBSET-REPLICATEDJOB-JOB-POD.JOBSET
    address = f"{name}-train-0-0.{name}"
    agent = (
        "torchrun", f"--nnodes={cluster.nodes}", f"--nproc-per-node={cluster.devices}",
        "--node-rank=$(JOB_COMPLETION_INDEX)", f"--master-addr={address}", f"--master-port={PORT}", "--max-restarts=0",
        f"--shutdown-timeout={STOP_SECONDS}", *rank_logs(job), "--module",
        *job.hunmin("pretrain", program=("hunmin.main",)),
    )  # fmt: skip
    jobs = [
        _replicated(job, "corpus", 1, job.hunmin("run", "--until", "encode", program=("hunmin",)), gpu=False),
        _replicated(job, "train", cluster.nodes, agent, gpu=not cluster.cpu, after="corpus"),
        _replicated(job, "scores", 1, job.scores(program=("hunmin",)), gpu=not cluster.cpu, after="train"),
    ]
    tree = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {
            "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
            "failurePolicy": {"maxRestarts": cluster.restarts},
            "replicatedJobs": jobs,
        },
    }
    return _submit(job, "jobset.yaml", tree)


def trainjob(job: Job) -> Launch:
    """Return a TrainJob (v1alpha1) of the runtime `torch-distributed`, which starts torchrun itself; training alone."""
    cluster = job.cluster
    if cluster.environment:
        raise UserError(
            f"--launcher kubeflow with --environment {cluster.environment}",
            "a TrainJob takes a container's variables from its runtime",
            "name the Secret in the runtime, or use --launcher kubernetes",
        )
    _, path = _claim(job)
    # the runtime says by PET_* variables where the pods meet; its own folder cannot be changed from here
    agent = shlex.join(("torchrun", f"--shutdown-timeout={STOP_SECONDS}", *rank_logs(job), "--module",
                        *job.hunmin("pretrain", program=("hunmin.main",))))  # fmt: skip
    trainer: dict[str, Any] = {
        "image": _image(job),
        "command": ["bash", "-c", f"cd {shlex.quote(path)} && exec {agent}"],
        "numNodes": cluster.nodes,
        "numProcPerNode": cluster.devices,
    }
    if not cluster.cpu:
        trainer["resourcesPerNode"] = {"limits": {"nvidia.com/gpu": cluster.devices}}
    volumes, mounts = _volumes(job)
    pod = {
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "volumes": volumes,
        "containers": [{"name": "node", "volumeMounts": mounts}],
    }
    node = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    patch = {
        "manager": "hunmin.launch/cli",
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [node]}}},
    }
    tree = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": _name(job)},
        "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": trainer,
            "runtimePatches": [patch],
        },
    }
    return _submit(job, "trainjob.yaml", tree)


def _replicated(
    job: Job, name: str, pods: int, command: tuple[str, ...], gpu: bool, after: str | None = None
) -> dict[str, Any]:
    cluster = job.cluster
    volumes, mounts = _volumes(job)
    _, path = _claim(job)
    container: dict[str, Any] = {
        "name": "hunmin",
        "image": _image(job),
        "workingDir": path,
        "command": list(command),
        "volumeMounts": mounts,
    }
    if cluster.environment:  # by name: what it holds is written nowhere
        container["envFrom"] = [{"secretRef": {"name": cluster.environment}}]
    if gpu:
        container["resources"] = {"limits": {"nvidia.com/gpu": cluster.devices}}
    found: dict[str, Any] = {
        "name": name,
        "replicas": 1,
        "template": {
            "spec": {
                "backoffLimit": 0,  # a pod that fails fails the Job, and the JobSet restarts all of them together
                "completionMode": "Indexed",
                "completions": pods,
                "parallelism": pods,
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "terminationGracePeriodSeconds": GRACE_SECONDS,
                        "containers": [container],
                        "volumes": volumes,
                    }
                },
            }
        },
    }
    if after:
        found["dependsOn"] = [{"name": after, "status": "Complete"}]
    return found


def _volumes(job: Job) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the volumes of a pod and where they are mounted: the shared folder, and memory for /dev/shm."""
    claim, path = _claim(job)
    volumes = [
        {"name": "shared", "persistentVolumeClaim": {"claimName": claim}},
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
    ]
    return volumes, [{"name": "shared", "mountPath": path}, {"name": "shm", "mountPath": "/dev/shm"}]


def _claim(job: Job) -> tuple[str, str]:
    claim, _, path = job.cluster.claim.partition(":")
    if not claim or not path.startswith("/"):
        raise UserError(
            f"--launcher kubernetes with --claim '{job.cluster.claim}'",
            "all pods work in one folder, on a volume that they share",
            "give --claim CLAIM:/PATH, a PersistentVolumeClaim with ReadWriteMany and where it is mounted",
        )
    return claim, path


def _image(job: Job) -> str:
    if not job.cluster.image:
        raise UserError("--launcher kubernetes without --image", "pods run in a container", "give --image NAME:TAG")
    return job.cluster.image


def _name(job: Job) -> str:
    """Return the recipe's name as that of an object: part of the pods' host names, which DNS limits to 63 letters."""
    return re.sub(r"[^a-z0-9]+", "-", job.recipe.name.lower()).strip("-")[:40].rstrip("-") or "hunmin"


def _submit(job: Job, file: str, tree: dict[str, Any]) -> Launch:
    path = job.run / "launch" / file
    text = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
    return Launch((Step("Kubernetes", ("kubectl", "apply", "--filename", str(path))),), {path: text})
