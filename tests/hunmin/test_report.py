"""The stage of the report: what makes it anew."""

from __future__ import annotations

from hunmin.recipe import Recipe
from hunmin.stages import stage_named


def test_another_seed_makes_the_report_again() -> None:
    """The page tells the seed."""

    def settings(**changes: object) -> dict[str, object]:
        tree = {"name": "t", "out": "run", "corpus": {"inputs": ["x"]}, **changes}
        return stage_named("report").settings(Recipe.model_validate(tree))

    assert settings() == settings(out="elsewhere")
    assert settings() not in (settings(seed=43), settings(name="u"))
