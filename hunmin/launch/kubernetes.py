"""Kubernetes: a JobSet whose three Jobs follow one another, or a TrainJob of Kubeflow for training alone."""

from __future__ import annotations

import hashlib
import os.path
import re
import shlex
from pathlib import Path
from typing import Any

import yaml

from common.errors import UserError
from common.process import WITH_SAFE_PATH
from hunmin.launch.cluster import Job, Launch, Step
from hunmin.launch.torchrun import rank_logs, rank_logs_in_shell
from hunmin.shipped import recipe_file

PORT = 29500
GRACE_SECONDS = 60
"""From the end of the time for saving until a pod is killed: torchrun's own limit comes first."""
LONGEST_NAME = 40
"""Letters: part of the pods' host names, which DNS limits to 63."""
INDEX = "$(JOB_COMPLETION_INDEX)"
"""Kubernetes puts the pod's number in its place."""
REQUESTS = ("cpu", "memory", "ephemeral-storage")
"""What a pod may ask for by --line, beside its GPUs."""


def jobset(job: Job) -> Launch:
    """Return a JobSet (v1alpha2): corpus, training and scores, each begun when the one before it is complete.

    A pod that fails restarts all three Jobs, up to `restarts` times: what is done is found done, and training goes on
    from its newest checkpoint.
    """
    cluster, name = job.cluster, _name(job)
    # JobSet names the pods' hosts: JOBSET-REPLICATEDJOB-JOB-POD.JOBSET
    address = f"{name}-train-0-0.{name}"
    agent = (
        "env", WITH_SAFE_PATH, "torchrun", f"--nnodes={cluster.nodes}", f"--nproc-per-node={cluster.devices}",
        f"--node-rank={INDEX}", f"--master-addr={address}", f"--master-port={PORT}", "--max-restarts=0",
        f"--shutdown-timeout={cluster.saving}", *rank_logs(job, INDEX), "--module",
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
            "failurePolicy": {"maxRestarts": cluster.most_restarts},
            "replicatedJobs": jobs,
        },
    }
    return _submit(job, "jobset", tree)


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
    logs = rank_logs_in_shell(job, "JOB_COMPLETION_INDEX")
    program = shlex.join(("--module", *job.hunmin("pretrain", program=("hunmin.main",))))
    agent = f"env {WITH_SAFE_PATH} torchrun --shutdown-timeout={cluster.saving} {logs} {program}"
    trainer: dict[str, Any] = {
        "image": _image(job),
        "command": ["bash", "-c", _literal(f"cd {shlex.quote(path)} && exec {agent}")],
        "numNodes": cluster.nodes,
        "numProcPerNode": cluster.devices,
    }
    if resources := _resources(job, "train", gpu=not cluster.cpu):
        trainer["resourcesPerNode"] = resources
    volumes, mounts = _volumes(job)
    pod = {
        "terminationGracePeriodSeconds": cluster.saving + GRACE_SECONDS,
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
    return _submit(job, "trainjob", tree)


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
        "command": list(map(_literal, command)),
        "volumeMounts": mounts,
    }
    if cluster.environment:  # by name: what it holds is written nowhere
        container["envFrom"] = [{"secretRef": {"name": cluster.environment}}]
    if resources := _resources(job, name, gpu):
        container["resources"] = resources
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
                        "terminationGracePeriodSeconds": cluster.saving + GRACE_SECONDS,
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


def _resources(job: Job, name: str, gpu: bool) -> dict[str, dict[str, Any]]:
    """Return what a pod of a Job asks for: its GPUs, and by the user's lines cores and memory."""
    requests = {}
    for line in job.cluster.lines_of(name):
        key, _, quantity = line.partition("=")
        if key not in REQUESTS or not re.fullmatch(r"[0-9]+(\.[0-9]+)?(m|[kMGTPE]i?)?", quantity):
            raise UserError(
                f"--line={line}",
                f"it is RESOURCE=QUANTITY, what a pod asks for, with one of {', '.join(REQUESTS)}; corpus:, train: or "
                "scores: before it stands for that Job alone",
                "e.g. --line=cpu=32 --line=memory=256Gi --line=corpus:cpu=64",
            )
        requests[key] = quantity
    limits = {"limits": {"nvidia.com/gpu": job.cluster.devices}} if gpu else {}
    return {**limits, **({"requests": requests} if requests else {})}


def _claim(job: Job) -> tuple[str, str]:
    claim, _, path = job.cluster.claim.partition(":")
    if not claim or not path.startswith("/"):
        raise UserError(
            f"--launcher kubernetes with --claim '{job.cluster.claim}'",
            "all pods work in one folder, on a volume that they share",
            "give --claim CLAIM:/PATH, a PersistentVolumeClaim with ReadWriteMany and where it is mounted",
        )
    recipe = () if recipe_file(job.path) != Path(job.path) else (("the recipe", job.path),)
    for what, name in (*recipe, ("out", job.recipe.out)):
        if not Path(os.path.normpath(Path(path) / name)).is_relative_to(os.path.normpath(path)):
            raise UserError(
                f"{what} {name} with --claim {job.cluster.claim}",
                f"pods share what lies in {path} and nothing else; paths that do not begin with / begin there",
                f"put it on the volume, and name it by its path from {path} on",
            )
    return claim, path


def _literal(word: str) -> str:
    """Return a word of a command as a manifest holds it: of `$(NAME)` Kubernetes would make a variable's value.

    >>> _literal("a$(KEY)"), _literal("$(JOB_COMPLETION_INDEX)")
    ('a$$(KEY)', '$(JOB_COMPLETION_INDEX)')
    """
    return re.sub(r"\$(?=[$(])", "$$", word).replace(f"${INDEX}", INDEX)


def _image(job: Job) -> str:
    if not job.cluster.image:
        raise UserError("--launcher kubernetes without --image", "pods run in a container", "give --image NAME:TAG")
    return job.cluster.image


def _name(job: Job) -> str:
    """Return the recipe's name as that of an object, a label of DNS that begins with a letter (RFC 1035).

    Where that is not the name itself, a hash of it follows: two recipes never have one object.
    """
    name = job.recipe.name
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if plain == name and len(name) <= LONGEST_NAME and name[0].isalpha():
        return name
    letters = plain if plain[:1].isalpha() else f"hunmin-{plain}".rstrip("-")
    digest = hashlib.sha256(name.encode()).hexdigest()[:6]
    return f"{letters[: LONGEST_NAME - 7].rstrip('-')}-{digest}"


def _submit(job: Job, kind: str, tree: dict[str, Any]) -> Launch:
    """Return the manifest, and the commands that put it in the place of one of before: most of it cannot be changed."""
    path = job.run / "launch" / f"{kind}.yaml"
    text = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
    gone = ("kubectl", "delete", kind, tree["metadata"]["name"], "--ignore-not-found", "--cascade=foreground")
    return Launch(
        (Step("Kubernetes", gone), Step("Kubernetes", ("kubectl", "apply", "--filename", str(path)))), {path: text}
    )
