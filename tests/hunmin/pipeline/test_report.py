"""The stage of the report: what makes it anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.current import make_current
from common.manifest import Manifest, write_manifest
from hunmin.commands.run import differing_parts
from hunmin.pipeline.report import collect
from hunmin.pipeline.stages import stage_named
from hunmin.recipes.recipe import Recipe


def test_another_seed_makes_the_report_again() -> None:
    """The page tells the seed."""

    def settings(**changes: object) -> dict[str, object]:
        tree = {"name": "t", "out": "run", "corpus": {"inputs": ["x"]}, **changes}
        return stage_named("report").settings(Recipe.model_validate(tree))

    assert settings() == settings(out="elsewhere")
    assert settings() not in (settings(seed=43), settings(name="u"))


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (["a.txt, b.txt, c.txt", "a.txt, c.txt"], "b.txt · – (2 more in all of them)"),
        (["a.txt, b.txt", "c.txt, a.txt"], "b.txt · c.txt (1 more in all of them)"),
        (["0.15", "0.3", None], "0.15 · 0.3 · –"),
        (["klue", "klue"], "1 of the same name, in another place or order"),
        (["b.txt, a.txt", "a.txt, b.txt"], "2 of the same names, in another place or order"),
    ],
)
def test_of_lists_only_what_differs_is_shown(values: list[str | None], shown: str) -> None:
    assert differing_parts(values) == shown


def test_counts_are_those_of_the_folders_that_count_on_a_file_system_without_links(tmp_path: Path) -> None:
    for stage, counts in {"corpus": {"documents": 3}, "klue": {"skipped": True}}.items():
        folder = tmp_path / "made" / f"{stage}-0123456789"
        folder.mkdir(parents=True)
        write_manifest(folder, Manifest(stage=stage, settings={}, inputs={}, outputs={}, counts=counts))
        make_current(tmp_path, stage, folder)
        (tmp_path / stage).unlink()
    recipe = Recipe.model_validate({"name": "t", "out": str(tmp_path), "corpus": {"inputs": ["x"]}})
    assert collect(recipe, tmp_path, [])["counts"]["corpus"] == {"documents": 3}
