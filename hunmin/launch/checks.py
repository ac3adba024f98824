"""What a run would refuse, seen before anything is submitted: hours in a queue are not for a name that is wrong."""

from __future__ import annotations

import os
import re
from pathlib import Path

from common.errors import HunminError, UserError
from common.files import expand, is_remote
from data.readers import HUB, SourceSettings
from hunmin.launch.cluster import Job
from hunmin.launch.options import PODS
from hunmin.pins import refuse_unknown_names
from hunmin.refusals import refuse_other_model, refuse_shared_executor
from hunmin.stages import STAGES


def check_run(launcher: str, job: Job) -> None:
    """Refuse what `hunmin run` refuses before it begins, as far as this machine can know it.

    Of files it knows nothing where pods see other ones, and nobody is asked over a network: of inputs that are URLs or
    data sets of the hub it knows nothing either.

    Raises:
        UserError: something that the run reads is not there, or its settings do not go together.
    """
    recipe, cluster = job.recipe, job.cluster
    refuse_shared_executor(recipe, None, None)
    if launcher in PODS:
        return
    if launcher == "slurm" and cluster.environment and not Path(cluster.environment).is_file():
        raise UserError(
            f"--environment {cluster.environment}: no such file",
            "every job reads it when it starts",
            "name a file of NAME=VALUE lines, on the file system that the nodes share",
        )
    here = [source for source in recipe.corpus.inputs if not _is_elsewhere(source)]
    local = recipe.model_copy(update={"corpus": recipe.corpus.model_copy(update={"inputs": here})})
    for stage in STAGES:
        for name in stage.files(local):
            expand(name)
    refuse_other_model(recipe)
    refuse_unknown_names(recipe, ask=False)


def _is_elsewhere(source: str | SourceSettings) -> bool:
    path = source if isinstance(source, str) else source.path
    return is_remote(path) or path.startswith(HUB)


def warnings(launcher: str, job: Job) -> list[str]:
    """Return sentences about what this machine cannot know for sure."""
    pii = job.recipe.corpus.pii
    if not pii.enabled or pii.key is not None or _key_is_there(launcher, job, pii.key_env):
        return []
    remedy = {
        "slurm": "export it before this command, or put it into a file for --environment",
        "kubernetes": "name a Secret that holds it with --environment",
        "kubeflow": "put it into the runtime's container",
    }.get(launcher, "export it")
    return [f"warning: {pii.key_env}, the key of the pseudonyms, is not seen to reach the run: {remedy}"]


def refusal(launcher: str, job: Job) -> str:
    """Return what `check_run` would raise, "" where it would raise nothing."""
    try:
        check_run(launcher, job)
    except HunminError as error:
        return str(error)
    return ""


def _key_is_there(launcher: str, job: Job, name: str) -> bool:
    if launcher in PODS:
        return bool(job.cluster.environment)  # a Secret: what it holds is not asked
    file = Path(job.cluster.environment or os.devnull)
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    return bool(os.environ.get(name)) or bool(re.search(rf"^\s*(?:export\s+)?{re.escape(name)}=.", text, re.MULTILINE))
