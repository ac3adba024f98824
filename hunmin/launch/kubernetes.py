"""Kubernetes: a JobSet whose three Jobs follow one another, or a TrainJob of Kubeflow for training alone."""

from __future__ import annotations

import hashlib
import os.path
import re
from pathlib import Path
from typing import Any

from common.errors import UserError
from hunmin.launch.cluster import FILES, Job, Launch, Step
from hunmin.launch.fill import command, fill
from hunmin.recipes.builtin import recipe_file

LONGEST_NAME = 40
"""Letters: part of the pods' host names, which DNS limits to 63."""
INDEX = "$(JOB_COMPLETION_INDEX)"
"""Kubernetes puts the pod's number in its place."""


def jobset(job: Job) -> Launch:
    """Return a JobSet (v1alpha2): corpus, training and scores, each begun when the one before it is complete.

    A pod that fails restarts all three Jobs, up to `restarts` times: what is done is found done, and training continues
    from its newest checkpoint.
    """
    values = {**job.values, "object": _name(job)}
    recipe = values["recipe"]
    jobs = {
        "corpus": (1, ("hunmin", "run", *recipe, "--until", "encode")),
        "train": (job.cluster.nodes, command("jobset.sh", values)),
        "scores": (1, ("hunmin", "run", *recipe, "--from", "export")),  # where training is not done, it refuses
    }
    parts = [
        {"name": name, "pods": pods, "command": list(map(_literal, words)), "resources": _resources(job, name)}
        for name, (pods, words) in jobs.items()
    ]
    return _submit(job, "jobset", {**values, "jobs": parts})


def trainjob(job: Job) -> Launch:
    """Return a TrainJob (v1alpha1) of the runtime `torch-distributed`, which starts torchrun itself; training alone."""
    values = {**job.values, "object": _name(job), "path": _claim(job)[1]}
    script = {"script": _literal(fill("trainjob.sh", values)), "resources": _resources(job, "train")}
    return _submit(job, "trainjob", {**values, **script})


def _submit(job: Job, kind: str, values: dict[str, Any]) -> Launch:
    """Return the manifest, and the commands that put it in the place of one of before: most of it cannot be changed."""
    claim, path = _claim(job)
    file = job.run / FILES / f"{kind}.yaml"
    manifest = fill(file.name, {**values, "volume": claim, "path": path})
    gone = ("kubectl", "delete", kind, values["object"], "--ignore-not-found", "--cascade=foreground")
    return Launch(
        (Step("Kubernetes", gone), Step("Kubernetes", ("kubectl", "apply", "--filename", str(file)))), {file: manifest}
    )


def _resources(job: Job, name: str) -> dict[str, dict[str, Any]]:
    lines = job.cluster.lines_of(name)
    for line in lines:
        if not re.fullmatch(r"[a-z][a-z0-9./-]*=[0-9]\S*", line):
            raise UserError(
                f"--scheduler-option={line}",
                "it is RESOURCE=QUANTITY, what a pod asks for; corpus:, train: or scores: before it: for that Job",
                "e.g. --scheduler-option=cpu=32 --scheduler-option=memory=256Gi --scheduler-option=corpus:cpu=64",
            )
    requests = dict(line.split("=") for line in lines)
    limits = {} if job.cluster.cpu or name == "corpus" else {"nvidia.com/gpu": job.cluster.devices}
    return {kind: asked for kind, asked in (("limits", limits), ("requests", requests)) if asked}


def _claim(job: Job) -> tuple[str, str]:
    """Return the shared volume's claim and where it is mounted; refuse what a pod would not see there."""
    claim, _, path = job.cluster.volume_claim.partition(":")
    recipe = () if recipe_file(job.path) != Path(job.path) else (("the recipe", job.path),)
    for setting, name in (*recipe, ("out", job.recipe.out)):
        if not Path(os.path.normpath(Path(path) / name)).is_relative_to(os.path.normpath(path)):
            raise UserError(
                f"{setting} {name} with --volume-claim {job.cluster.volume_claim}",
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
