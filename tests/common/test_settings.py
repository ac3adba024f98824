"""Settings: strict, with errors that name key, value, rule and the nearest known key."""

from pathlib import Path

import pytest
from pydantic import Field

from common.errors import UserError
from common.settings import (
    Settings,
    apply_overrides,
    changed_keys,
    dump_settings,
    load_yaml,
    parse_settings,
    runtime,
    secret,
    settings_hash,
)


class Inner(Settings):
    learning_rate: float = Field(1e-4, gt=0)
    """Peak learning rate."""
    key: str | None = secret(None)
    workers: int = runtime(1, ge=1)


class Outer(Settings):
    name: str
    inner: Inner = Inner()
    parts: tuple[Inner, ...] = ()


class Shape(Settings):
    ELSEWHERE = {"intermediate": "feed_forward"}  # noqa: RUF012, another library's name of it
    feed_forward: int = 4
    initializer_range: float = 0.02


class Whole(Settings):
    pretrain: Shape = Shape()


@pytest.mark.parametrize(
    ("model", "tree", "key", "near"),
    [
        (Outer, {"name": "x", "inner": {"learnin_rate": 1}}, "inner.learnin_rate", "learning_rate"),
        (Outer, {"name": "x", "parts": [{"lerning_rate": 1}]}, "parts.0.lerning_rate", "learning_rate"),
        (Outer, {"name": "x", "Name": "y"}, "Name", "name"),
        (Outer, {"name": "x", "inner": {"Workers": 2}}, "inner.Workers", "workers"),
        (Shape, {"intermediate": 1}, "intermediate", "feed_forward"),
        (Shape, {"feed_forwrad": 1}, "feed_forwrad", "feed_forward"),
        (Whole, {"feed_forward": 3}, "feed_forward", "pretrain.feed_forward"),  # without its section
    ],
)
def test_an_unknown_key_names_the_nearest_at_any_depth(
    model: type[Settings], tree: dict[str, object], key: str, near: str
) -> None:
    with pytest.raises(UserError, match=rf"unknown key '{key}' \(did you mean '{near}'\?\)"):
        parse_settings(model, tree, "r.yaml")


def test_a_bad_value_is_shown_with_its_rule_and_a_missing_one_with_the_remedy() -> None:
    with pytest.raises(UserError) as caught:
        parse_settings(Outer, {"inner": {"learning_rate": -1}}, "r.yaml")
    text = str(caught.value)
    assert "r.yaml: 2 settings wrong" in text
    assert "'name' is missing: give it in the recipe or as name=VALUE" in text
    assert "inner.learning_rate = -1" in text and "greater than 0" in text
    assert caught.value.exit_code == 2


def test_overrides_make_sections_and_parse_yaml() -> None:
    tree = {"a": {"b": 1}}
    changed = apply_overrides(tree, ["a.b=2", "a.c.d=[1, x]", "e=null", "f=1e-3"])
    assert changed == {"a": {"b": 2, "c": {"d": [1, "x"]}}, "e": None, "f": "1e-3"}
    assert tree == {"a": {"b": 1}}
    for bad in ("novalue", "=1", "a.b.c=1", "a=[1"):
        with pytest.raises(UserError):
            apply_overrides(tree, [bad])


def test_an_override_has_no_comments() -> None:
    """YAML ends a value at a # after a space: `out='runs/my run #3'` once wrote into `runs/my run`."""
    tree = apply_overrides({}, ["a=runs/my run #3", "b=#5", "c=a#b", "d='x # y'", "e=[1, 'p # q']"])
    assert tree == {"a": "runs/my run #3", "b": "#5", "c": "a#b", "d": "x # y", "e": [1, "p # q"]}
    with pytest.raises(UserError, match="quote it"):
        apply_overrides({}, ["a=[x, y #3]"])


def test_numbers_in_scientific_notation_work_as_overrides() -> None:
    tree = apply_overrides({"name": "x"}, ["inner.learning_rate=1e-3"])
    assert parse_settings(Outer, tree, "r").inner.learning_rate == 1e-3


def test_runtime_and_secret_fields_stay_out() -> None:
    outer = Outer(name="x", inner=Inner(key="hush", workers=4))
    assert dump_settings(outer) == {"name": "x", "inner": {"learning_rate": 1e-4}, "parts": []}
    saved = dump_settings(outer, drop="secret")
    assert saved["inner"] == {"learning_rate": 1e-4, "workers": 4}
    assert "hush" not in repr(outer)


def test_changes_are_told_by_dotted_key() -> None:
    assert changed_keys({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": 2}, "d": None}) == ["a.b: 1 → 3"]


def test_a_setting_that_an_earlier_version_did_not_have_is_unchanged_at_its_default() -> None:
    class Inner(Settings):
        old: int
        new: float = 0.5

    class Outer(Settings):
        inner: Inner
        several: list[Inner | str]
        named: dict[str, Inner]
        added: Inner = Inner(old=3)

    now = dump_settings(Outer(inner=Inner(old=1), several=[Inner(old=2), "x"], named={"a": Inner(old=3)}))
    before = {"inner": {"old": 1}, "several": [{"old": 2}, "x"], "named": {"a": {"old": 3}}}
    assert changed_keys(before, now, model=Outer) == []
    now["inner"]["new"] = now["named"]["a"]["new"] = 0.6
    assert changed_keys(before, now, model=Outer) == ["inner.new: null → 0.6", "named.a.new: null → 0.6"]
    now["several"][0]["new"] = 0.6
    assert [line.partition(":")[0] for line in changed_keys(before, now, model=Outer)][-1] == "several"
    assert settings_hash({"a": 1, "b": 2}) == settings_hash({"b": 2, "a": 1}) != settings_hash({"a": 1, "b": 3})


def test_yaml_files_that_cannot_be_recipes(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text("a: 1")
    with pytest.raises(UserError, match=r"did you mean 'recipe.yaml'"):
        load_yaml(tmp_path / "recpe.yaml")
    for name, content in (("list", b"- 1"), ("bad", b"a: [1"), ("latin", "a: é".encode("latin-1"))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError):
            load_yaml(tmp_path / name)


def test_a_key_given_twice_is_refused(tmp_path: Path) -> None:
    """YAML would keep the last, and the first section would be lost without a word."""
    (tmp_path / "r.yaml").write_text("pretrain: {steps: 1}\nout: a\npretrain: {layers: 2}\n")
    with pytest.raises(UserError, match=r"(?s)'pretrain' is given twice.*line 3"):
        load_yaml(tmp_path / "r.yaml")
    (tmp_path / "r.yaml").write_text("x: &x {b: 1}\ny: {<<: *x, b: 2}\n")  # a merged key may be given anew
    assert load_yaml(tmp_path / "r.yaml")["y"] == {"b": 2}
    (tmp_path / "r.yaml").write_text("x: {1: a, '1': b}\n")  # a number and a text
    assert load_yaml(tmp_path / "r.yaml")["x"] == {1: "a", "1": "b"}


TAGS = ("!!int x", "!!int ''", "!!bool x", "!!float x", "!!timestamp x", "!!python/object/apply:os.getcwd []")


@pytest.mark.parametrize(
    ("value", "said"),
    [*((value, "not valid YAML") for value in (*TAGS, "9" * 5000)), ("[" * 5000 + "]" * 5000, "nested too deeply")],
)
def test_a_value_that_its_tag_does_not_fit_is_one_message(value: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(f"a: {value}\n")
    with pytest.raises(UserError, match=said):
        load_yaml(tmp_path / "r.yaml")
    with pytest.raises(UserError, match="not a YAML value"):
        apply_overrides({}, [f"a={value}"])


@pytest.mark.parametrize("value", ["2026-11-22", "2026-02-30", "2020-13-45", "2026-11-22 10:00:00"])
def test_a_date_is_a_string(value: str, tmp_path: Path) -> None:
    """YAML's dates are no settings, and one that cannot be (30 February) is no error of YAML's own kind."""
    (tmp_path / "r.yaml").write_text(f"name: {value}\n", encoding="utf-8")
    tree = load_yaml(tmp_path / "r.yaml")
    assert tree == {"name": value}
    assert apply_overrides(tree, [f"other={value}"]) == {"name": value, "other": value}


@pytest.mark.parametrize("value", [".inf", "-.inf", ".nan"])
def test_infinity_and_nan_are_no_values(value: str) -> None:
    class Sized(Settings):
        size: float = 1.0

    with pytest.raises(UserError, match="size"):
        parse_settings(Sized, apply_overrides({}, [f"size={value}"]), "test")


def test_yaml_that_stands_for_values_without_end_is_one_message(tmp_path: Path) -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    (tmp_path / "a.yaml").write_text("\n".join(lines))
    with pytest.raises(UserError, match="more than 100,000 values"):
        load_yaml(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").write_text("a: &a {x: 1}\nb: *a")
    assert load_yaml(tmp_path / "b.yaml") == {"a": {"x": 1}, "b": {"x": 1}}


def test_a_word_for_a_list_is_told_as_one() -> None:
    class Tasks(Settings):
        tasks: list[str]

    with pytest.raises(UserError, match=r"write a list: tasks=\[ynat\]"):
        parse_settings(Tasks, {"tasks": "ynat"}, "recipe.yaml")
