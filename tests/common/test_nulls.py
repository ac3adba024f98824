"""Settings for people to read: nulls that are defaults are left out, those that say something stay."""

from pydantic import Field

from common.nulls import without_nulls
from common.settings import Settings, dump_settings, runtime


class Inner(Settings):
    rate: float | None = None
    batch: int | None = None
    threads: int = runtime(1)


class Outer(Settings):
    most: int | None = 1000
    base: str | None = None
    one: Inner = Inner()
    two: Inner = Inner(rate=0.5)
    parts: list[Inner | str] = Field([])
    named: dict[str, Inner] = Field({})


def test_nulls_that_are_defaults_are_left_out() -> None:
    set_ = {"most": None, "one": {"batch": 3}, "two": {}, "parts": [{"rate": 0.1}, "a"], "named": {"x": {"batch": 1}}}
    tree = dump_settings(Outer.model_validate(set_))
    assert tree["base"] is None and tree["two"] == {"rate": None, "batch": None}
    assert without_nulls(tree, Outer) == set_
    assert dump_settings(Outer.model_validate(without_nulls(tree, Outer))) == tree


def test_of_nothing_that_is_set_nothing_is_left() -> None:
    assert without_nulls(dump_settings(Outer()), Outer) == {"most": 1000, "two": {"rate": 0.5}, "parts": []}
    assert without_nulls({"other": None, "one": None}, Outer) == {"other": None, "one": None}
