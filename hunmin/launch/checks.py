"""What is refused before anything is written or submitted: hours in a queue are not for a name that is wrong, and an
option that a launcher would ignore is refused, so that nobody believes it was heard.
"""

from __future__ import annotations

import os
import re
from dataclasses import fields
from pathlib import Path

from common.control_characters import CONTROL, escaped
from common.errors import UserError, nearest
from common.files import HUB, is_remote
from common.progress import say
from common.secrets import masked_words
from data.pii.settings import PiiSettings
from hunmin.launch.cluster import Cluster, Job
from hunmin.pipeline.run import refuse_redoing_unasked
from hunmin.pipeline.stages import stages_of
from hunmin.pipeline.state import RunFolder
from hunmin.recipes.pins import refuse_unknown_names
from hunmin.recipes.preflight import (
    refuse_moved,
    refuse_other_model,
    refuse_repeated_validation,
    refuse_shared_executor,
)
from hunmin.recipes.recipe import Recipe

TAKES: dict[str, tuple[str, ...]] = {
    "local": (),
    "torchrun": ("nodes", "fewest", "node", "address", "hosts", "restarts", "grace_period"),
    "deepspeed": ("nodes", "node", "address", "hosts"),
    "slurm": ("nodes", "restarts", "grace_period", "partition", "account", "time", "scheduler_options", "env_file",
              "image"),
    "kubernetes": ("nodes", "restarts", "grace_period", "scheduler_options", "env_file", "image", "volume_claim"),
    "kubeflow": ("nodes", "grace_period", "scheduler_options", "image", "volume_claim"),
    "xla": ("nodes", "node", "hosts", "restarts", "grace_period"),
}  # fmt: skip
"""Launcher → the fields of `Cluster` that it takes; those that none names here are for all."""
BY_NODE = ("torchrun", "deepspeed", "xla")
"""Launchers whose command is given on every node."""
PODS = ("kubernetes", "kubeflow")
"""Launchers that describe pods, which see nothing of this machine."""
NEEDS = (
    (("torchrun", "deepspeed"), lambda asked: asked.address or asked.nodes == 1, "--address",
     "the processes meet at node 0", "give the same --address HOST:PORT on every node: node 0's name and a free port"),
    (("deepspeed", "xla"), lambda asked: len(asked.hosts or "1") == asked.nodes, "as many --hosts",
     "the nodes find each other by their names", "give --hosts NAME,NAME …, in the same order everywhere"),
    (PODS, lambda asked: asked.image, "--image", "pods run in a container", "give --image NAME:TAG"),
    (PODS, lambda asked: re.match("[^:]+:/", asked.volume_claim), "--volume-claim",
     "all pods work in one folder, on a volume that they share",
     "give --volume-claim CLAIM:/PATH, a PersistentVolumeClaim with ReadWriteMany and where it is mounted"),
)  # fmt: skip
"""Launchers, what they need, its name, the rule and the fix."""


def check_options(launcher: str, job: Job) -> None:
    """Refuse what was asked for and cannot be.

    Args:
        job: what is launched; its recipe's name and `out` have been looked at.

    Raises:
        UserError: an option that the launcher does not take, one that is missing or does not fit the others, or one
            that would not stay what it is in what is written.
    """
    cluster = job.cluster
    if launcher not in TAKES:
        raise UserError(f"unknown launcher '{launcher}'{nearest(launcher, list(TAKES))}", ", ".join(TAKES))
    for field in fields(Cluster):
        value = getattr(cluster, field.name)
        takers = [name for name, taken in TAKES.items() if field.name in taken]
        nothing = value == field.default or (field.name == "restarts" and value == 0)  # none is what it makes
        if takers and launcher not in takers and not nothing:
            named = {"scheduler_options": "--scheduler-option", "fewest": "--nodes MIN:MAX,"}
            option = named.get(field.name, f"--{field.name.replace('_', '-')}")
            shown = " ".join(map(str, value)) if isinstance(value, tuple) else value
            raise UserError(
                f"--launcher {launcher} with {option} {shown}",
                f"{option} is taken by {' and '.join(takers)} alone",
                "leave it out, or choose one of these launchers",
            )
    for launchers, there, option, rule, fix in NEEDS:
        if launcher in launchers and not there(cluster):
            raise UserError(f"--launcher {launcher} on {cluster.nodes} nodes without {option}", rule, fix)
    if cluster.node is not None and cluster.node >= cluster.nodes:
        raise UserError(
            f"--node {cluster.node} of --nodes {cluster.nodes_given}",
            f"nodes count from 0, so that the last one is {cluster.nodes - 1}",
            "give each machine its own --node, or more --nodes",
        )
    for nodes in range(cluster.fewest or cluster.nodes, cluster.nodes + 1):
        if fault := job.recipe.pretrain.batch_fault(nodes * cluster.devices):
            raise UserError(
                f"--nodes {cluster.nodes_given}, with {nodes} nodes: {fault}" if cluster.fewest else fault,
                "every process computes as many micro-batches of a global batch as the others",
            )
    _check_words(launcher, job)


def _check_words(launcher: str, job: Job) -> None:
    """Refuse words that would begin a line of their own in what is written, or would show a secret there."""
    asked = [value for value in vars(job.cluster).values() if isinstance(value, str)]
    for text in (job.path, str(Path.cwd()), *asked, *job.cluster.hosts, *job.cluster.scheduler_options):
        if CONTROL.search(text):
            raise UserError(
                f"{escaped(text, keep='')} holds a control character",
                "it becomes part of a line of a script, which a line end would cut in two",
                "take the character out",
            )
    written = [*job.overrides, job.cluster.image, *job.cluster.scheduler_options]
    for word, hidden in zip(written, masked_words(written), strict=True):
        if word != hidden:
            raise UserError(
                f"--launcher {launcher} with {hidden}",
                "the command line is in what is submitted and in the list of processes, and a secret is not",
                "put it into the recipe, or as a variable (HUNMIN_PII_KEY, AWS_…) into --env-file",
            )


def check_run(launcher: str, job: Job) -> None:
    """Refuse what `hunmin run` refuses before it begins, as far as this machine can know it.

    Pods see other files than it does. Of inputs that are URLs or on the hub, the store is asked only where the run
    folder holds work that was made of them.

    Raises:
        UserError: something that the run reads is not there, its settings do not go together, or it would replace work.
    """
    recipe, environment = job.recipe, job.cluster.env_file
    refuse_shared_executor(recipe, None, None)
    refuse_moved(recipe, job.path, job.overrides)
    refuse_repeated_validation(recipe)
    if launcher in PODS:
        return
    if environment and not Path(environment).is_file():
        raise UserError(
            f"--env-file {environment}: no such file",
            "every job reads it when it starts",
            "name a file of NAME=VALUE lines, on the file system that the nodes share",
        )
    paths = [(source, source if isinstance(source, str) else source.path) for source in recipe.corpus.inputs]
    here = [source for source, path in paths if not is_remote(path) and not path.startswith(HUB)]
    local = recipe.model_copy(update={"corpus": recipe.corpus.model_copy(update={"inputs": here})})
    for stage in stages_of(recipe):
        stage.inputs(local)
    refuse_other_model(recipe)
    refuse_unknown_names(recipe, ask=False)
    if not job.cluster.node:  # node 0 does all but the training
        _check_work(launcher, recipe)


def _check_work(launcher: str, recipe: Recipe) -> None:
    """Refuse to do work in the run folder again, where there is any: without it, no input is hashed here."""
    folder = RunFolder(Path(recipe.out))
    stages = stages_of(recipe)
    pii = recipe.corpus.pii
    if not any(path.exists() for stage in stages for path in (folder.final(stage), folder.partial(stage))):
        return
    if not _key_is_here(pii):
        say(f"warning: {pii.key_env} is not set here: whether finished stages fit the recipe is unchecked", "yellow")
        return
    last = None if launcher == "local" else "pretrain"  # what comes after it every other launch does anew (--from)
    refuse_redoing_unasked(recipe, last=last, folder=folder)


def _key_is_here(pii: PiiSettings) -> bool:
    return not pii.enabled or pii.key is not None or bool(os.environ.get(pii.key_env))


def warning(launcher: str, job: Job) -> str:
    """Return a warning where the key of the pseudonyms does not seem to reach the run, with the fix; else ""."""
    pii = job.recipe.corpus.pii
    if not pii.enabled or pii.key is not None or job.cluster.env_file:
        return ""
    if launcher in PODS:
        fix = "name a Secret that holds it with --env-file (kubernetes), or put it into the runtime's container"
    elif _key_is_here(pii):
        return ""
    else:
        fix = "export it before this command, or put it into a file for --env-file (slurm)"
    return f"warning: {pii.key_env}, the key of the pseudonyms, is not seen to reach the run: {fix}"
