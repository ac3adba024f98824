"""Options: which launcher takes which; one that would be ignored is refused, so that nobody believes it was heard."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from common.control_characters import CONTROL, escaped
from common.errors import UserError
from common.secrets import masked_words
from hunmin.launch.cluster import Cluster, Job

BY_NODE = ("torchrun", "deepspeed", "xla")
"""Launchers whose command is given on every node."""
WRITES = ("slurm", "kubernetes", "kubeflow", "xla")
"""Launchers that write the command line into files."""
PODS = ("kubernetes", "kubeflow")
"""Launchers that describe pods, which see nothing of this machine."""

TAKEN_BY: dict[str, tuple[str, ...]] = {
    "node": BY_NODE,
    "address": ("torchrun", "deepspeed"),
    "hosts": BY_NODE,
    "restarts": ("torchrun", "slurm", "kubernetes", "xla"),
    "saving": ("torchrun", "slurm", *PODS, "xla"),
    "partition": ("slurm",),
    "account": ("slurm",),
    "time": ("slurm",),
    "lines": ("slurm", *PODS),
    "environment": ("slurm", *PODS),
    "image": ("slurm", *PODS),
    "claim": PODS,
}
"""Field of `Cluster` → the launchers that read it. Those that are not here are for all."""
NAMES = {"lines": "--line"}
"""Field → option, where it has another name."""
REMEDIES = {
    ("restarts", "kubeflow"): "its runtime says how often (failurePolicy); leave --restarts out",
    ("restarts", "deepspeed"): "DeepSpeed's launcher starts nothing again: give the same command anew, or --restarts 0",
    ("address", "xla"): "the hosts of a slice meet at the first of --hosts; leave --address out",
}


def refuse_unused(launcher: str, cluster: Cluster) -> None:
    """Refuse an option that a launcher does not read.

    Args:
        launcher: its name.
        cluster: what was asked for.

    Raises:
        UserError: there is one.
    """
    for field in fields(Cluster):
        takers = TAKEN_BY.get(field.name, (launcher,))
        value = getattr(cluster, field.name)
        nothing = value == field.default or (field.name == "restarts" and value == 0)  # none is what it makes
        if launcher in takers or nothing:
            continue
        shown = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        option = NAMES.get(field.name, f"--{field.name}")
        raise UserError(
            f"--launcher {launcher} with {option} {shown}",
            f"{option} is read by {' and '.join(takers)} alone",
            REMEDIES.get((field.name, launcher), f"leave {option} out, or choose one of these launchers"),
        )


def refuse_control_characters(job: Job) -> None:
    """Refuse options and paths that would begin a new line in a script, a manifest or a hostfile.

    Args:
        job: what is launched; its recipe's name and `out` have been looked at.

    Raises:
        UserError: there is one.
    """
    values = [("the recipe's path", job.path), ("the current folder", str(Path.cwd()))]
    for field in fields(Cluster):
        value = getattr(job.cluster, field.name)
        name = NAMES.get(field.name, f"--{field.name}")
        values += [(name, each) for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, str)]
    for name, value in values:
        if CONTROL.search(value):
            raise UserError(
                f"{name} {escaped(value, keep='')} holds a control character",
                "it becomes part of a line of a script, which a line end would cut in two",
                "take the character out",
            )


def refuse_secrets(launcher: str, job: Job) -> None:
    """Refuse secrets that would be written into a script or a manifest, and be read by all who may read those.

    Args:
        launcher: its name.
        job: what is launched.

    Raises:
        UserError: the command line has one.
    """
    if launcher not in WRITES:
        return
    given = [*job.overrides, job.cluster.image, *job.cluster.lines]
    for word, hidden in zip(given, masked_words(given), strict=True):
        if word != hidden:
            raise UserError(
                f"--launcher {launcher} with {hidden}",
                "the command line is written into what is submitted, and a secret is not",
                "put it into the recipe, or as a variable (HUNMIN_PII_KEY, AWS_…) into --environment",
            )


def refuse_node(launcher: str, cluster: Cluster) -> None:
    """Refuse a node that is not one of the run's.

    Raises:
        UserError: its number is too large.
    """
    if launcher in BY_NODE and cluster.node is not None and cluster.node >= cluster.nodes:
        last = cluster.nodes - 1
        raise UserError(
            f"--node {cluster.node} of --nodes {cluster.nodes_given}",
            "nodes count from 0, so that the last one is " + str(last),
            f"give --node 0 to --node {last}, each on one machine"
            if last
            else "leave --node out, or give more --nodes",
        )
