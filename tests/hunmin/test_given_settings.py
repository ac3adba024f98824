"""Settings that one of several processes was given alone: the first one's count, and the others' are named."""

from __future__ import annotations

from typing import Any

from common.settings import dump_settings
from hunmin.pipeline.joint_training import other_settings
from hunmin.recipes.recipe import Recipe


def given(host: str, **pretrain: Any) -> tuple[str, dict[str, Any]]:
    """Return what a process tells; the key of the pseudonyms is none of it."""
    corpus = {"inputs": ["x"], "pii": {"key": "invented-sample-key-1"}}
    recipe = Recipe.model_validate({"name": "t", "out": "run", "corpus": corpus, "pretrain": pretrain})
    return host, dump_settings(recipe, drop="secret")


def test_settings_of_one_process_alone_are_named_with_its_host() -> None:
    usual, other = given("n0"), given("n1", micro_batch=4, checkpoint_every=7)
    assert other_settings([usual, given("n1")], Recipe) == []
    (line,) = other_settings([usual, usual, other, other], Recipe)
    assert line.startswith("warning: settings of ranks 2, 3 on n1 differ from those of rank 0, and do not count: ")
    assert "pretrain.micro_batch: 32 → 4" in line and "pretrain.checkpoint_every: " in line and " → 7" in line
    lines = other_settings([usual, given("n1", seed=7), given("n2", seed=8)], Recipe)
    assert [("rank 1 on n1" in line, "rank 2 on n2" in line) for line in lines] == [(True, False), (False, True)]
    assert "invented-sample-key-1" not in repr([usual, other])
