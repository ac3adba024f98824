"""Jobs that the tests launch."""

from __future__ import annotations

from typing import Any

import pytest

from common.errors import UserError
from hunmin.launch.cluster import Cluster, Job, Launch
from hunmin.launch.start import emit
from hunmin.recipes.recipe import Recipe


def job_of(
    cluster: Cluster, name: str = "My_Run", path: str = "recipe.yaml", out: str = "runs/x", **pretrain: Any
) -> Job:
    """Return a job of a recipe of 256 samples a step."""
    tree = {"name": name, "out": out, "corpus": {"inputs": ["a"]}, "klue": {"data": "klue"},
            "pretrain": {"global_batch": 256, "micro_batch": 8, **pretrain}}  # fmt: skip
    return Job(Recipe.model_validate(tree), path, ("seed=7", "name=My Run"), cluster)


def words_of(launch: Launch, node: int) -> list[str]:
    """Return the words of the command that trains on a node."""
    (words,) = [s.words for s in launch.steps if s.where == f"node {node}" and not {"--until", "--from"} & {*s.words}]
    return list(words)


def refused(launcher: str, cluster: Cluster, **job: Any) -> str:
    """Return why a launcher refuses a job."""
    with pytest.raises(UserError) as caught:
        emit(launcher, job_of(cluster, **job))
    assert caught.value.rule and caught.value.fix
    return str(caught.value)
