"""No error, log, page or card holds a planted secret: over all settings of all recipes and all options of all commands.

What is planted is invented here, and looked for as it is, percent-encoded, and in the names of files.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from typer.main import get_command

from common.errors import UserError
from common.settings import _settings_class
from hunmin.embed.recipe import EmbedRecipe
from hunmin.hub.scrub import public_recipe
from hunmin.instruct.recipe import InstructRecipe
from hunmin.main import app, run_command
from hunmin.recipes.load import load_any_recipe
from hunmin.recipes.recipe import Recipe, save_recipe

PASSWORD, SIGNATURE, KEY = "PwInvented77", "SigInvented88", "InventedSampleKey-0123"
URL = f"https://lee:{PASSWORD}@127.0.0.1:9/a?X-Amz-Signature={SIGNATURE}&part=3"
FORMS = {
    "url": URL,
    "upper": f"HTTPS://lee:{PASSWORD}@HOST:9/a",
    "collapsed": f"https:/lee:{PASSWORD}@127.0.0.1:9/m",
    "bare": f"lee:{PASSWORD}@127.0.0.1:9/m",
    "encoded": quote(URL, safe=""),
    "in a parameter": f"https://h/get?url={quote(URL, safe='')}",
    "s3": f"s3://lee:{PASSWORD}/x+y@bucket/a",
    "hdfs": f"hdfs:/lee:{PASSWORD}@node:8020/a",
    "git": f"git+https://{PASSWORD}@github.example/a.git",
    "chain": f"zip://a.jsonl::https://lee:{PASSWORD}@h.example/a.zip",
    "sas": f"https://a.blob.example/c/x?sv=2024&sig={SIGNATURE}%3D",
    "token": f"https://h.example/a?token={SIGNATURE}",
    "hub": f"hf_{SIGNATURE}abcdefgh",
    "wandb": "'0123456789abcdef0123456789abcdef01234567'",
    "aws": f"aws_secret_access_key={SIGNATURE}/abc",
    "header": f"Authorization: Bearer {SIGNATURE}.abc",
}
"""What a person may paste where a path, a name or a number is expected."""
RECIPES: dict[type[BaseModel], dict[str, Any]] = {
    Recipe: {
        "name": "tiny", "out": "run", "klue": {"data": "klue"}, "embed": {"data": [{"path": "pairs.jsonl"}]},
        "corpus": {"inputs": ["a.jsonl"], "pii": {"key": KEY}, "workers": 1},
    },
    InstructRecipe: {
        "name": "tiny", "out": "run", "instruct": {"data": "data"}, "tune": {"base": "base"}, "leaderboard": {},
    },
    EmbedRecipe: {"name": "tiny", "out": "run", "embed": {"base": "base", "data": [{"path": "pairs.jsonl"}]}},
}  # fmt: skip


def held(*texts: str) -> list[str]:
    """Return the planted secrets that texts hold."""
    whole = "\n".join(texts)
    return [value for value in (PASSWORD, SIGNATURE, KEY, "0123456789abcdef0123456789abcdef01234567") if value in whole]


def held_below(folder: Path) -> list[str]:
    """Return the planted secrets in the names and bytes of the files below a folder."""
    recipes = [folder / f"{kind.__name__}.yaml" for kind in RECIPES]
    files = [path for path in folder.rglob("*") if path not in recipes]
    return held(*map(str, files), *(path.read_bytes().decode("latin-1") for path in files if path.is_file()))


def keys_of(kind: type[BaseModel], section: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the dotted keys of a settings class, sections among them."""
    for name, field in kind.model_fields.items():
        yield ".".join((*section, name))
        if inner := _settings_class(field.annotation):
            yield from keys_of(inner, (*section, name))


KEYS = [(kind, key) for kind in RECIPES for key in keys_of(kind)]


@cache
def commands() -> list[tuple[tuple[str, ...], list[Any]]]:
    """Return the words of each command, and its parameters that take a value."""

    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, (*words, name))
        if not hasattr(command, "commands"):
            yield words, [x for x in command.params if not getattr(x, "is_flag", False) and x.name != "help"]

    return list(walk(get_command(app), ()))


OPTIONS = [(words, one.name) for words, options in commands() for one in options]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a recipe of each kind, and nothing that they name."""
    monkeypatch.chdir(tmp_path)
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.delenv("HUNMIN_PII_KEY", raising=False)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr("hunmin.doctor.checks.ask", lambda names: {name: {"error": "not asked"} for name in names})
    for kind, tree in RECIPES.items():
        Path(f"{kind.__name__}.yaml").write_text(yaml.safe_dump(tree), encoding="utf-8")
    return tmp_path


def said_of(kind: type[BaseModel], key: str, value: str) -> str:
    """Return the error, or what would be written and published, of a recipe with a value at a key."""
    try:
        recipe = load_any_recipe(f"{kind.__name__}.yaml", [f"{key}={value}"])
    except UserError as error:
        return f"{error!r} {error}"
    save_recipe(recipe, Path("saved.yaml"))
    saved = Path("saved.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(saved)
    return saved + (public_recipe(recipe) if isinstance(recipe, Recipe) else "")


def test_no_error_and_no_recipe_of_any_setting_holds_one(home: Path) -> None:
    leaks = []
    for kind, key in KEYS:
        try:
            text = said_of(kind, key, URL)
        except Exception as error:
            leaks.append(f"{kind.__name__} {key} {error!r}")
        else:
            leaks += [f"{kind.__name__} {key} {text}"] if held(text) else []
    assert len(KEYS) > 400 and not leaks


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example((InstructRecipe, "tune.wandb_project"), "bare", "{}")
@example((Recipe, "pretrain.wandb_project"), "wandb", "{}")
@example((Recipe, "pretrain.init_from"), "hub", "{}")
@example((Recipe, "hub.commits"), "header", "{}")
@example((InstructRecipe, "hub.commits"), "bare", "{{path: '{}'}}")
@given(
    st.sampled_from(KEYS), st.sampled_from(sorted(FORMS)), st.sampled_from(["{}", "[{}]", "{{path: '{}'}}", "{}: ["])
)
def test_no_form_at_any_setting_is_shown(home: Path, place: tuple[type[BaseModel], str], form: str, shape: str) -> None:
    assert not held(said_of(*place, shape.format(FORMS[form].strip("'"))))


@pytest.mark.slow
def test_no_form_at_every_setting_is_shown(home: Path) -> None:
    for kind, key in KEYS:
        assert not [form for form, value in FORMS.items() if held(said_of(kind, key, value))], key


@pytest.mark.parametrize("tree", [
    {"pii": KEY}, {"pii": [KEY]}, {"pii": {KEY: None}}, {"pii": {"kye": KEY}}, {"pii": {"key_env": KEY}},
    {"pii": {"types": [KEY]}}, {"pii": {"enabled": KEY}}, {"pii": {"key": [KEY]}}, {"pii": {"key": {KEY: 1}}}, KEY,
])  # fmt: skip
def test_the_key_one_level_off_is_not_shown(tree: Any, home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("r.yaml").write_text(yaml.safe_dump({"name": "a", "out": "run", "corpus": tree}), encoding="utf-8")
    assert run_command(["run", "r.yaml", "--dry-run"]) == 2
    out, err = capfd.readouterr()
    assert "corpus" in err and not held(out, err)


@pytest.mark.parametrize("text", [
    "key: *{}", "key: !{} x", "key: {}: [", "{}, {}: [", "key: '{}", "key: \"{}\\q\"", "key: !!int {}", "<<: {}",
    "key: @{}", "key: |{}", "key: &{} &b x", "key: x\n      {}: y: z",
])  # fmt: skip
def test_a_key_that_is_no_yaml_is_not_shown(text: str, home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    written = text.replace("{}", KEY)
    Path("r.yaml").write_text(f"corpus:\n  pii:\n    {written}\n", encoding="utf-8")
    codes = {run_command(["run", "r.yaml", "--dry-run"])}
    for key in ("corpus.pii.key", "corpus.pii", "corpus"):
        codes.add(run_command(["run", "Recipe.yaml", f"{key}={written.removeprefix('key: ')}", "--dry-run"]))
    out, err = capfd.readouterr()
    assert codes <= {1, 2} and not held(out, err)


@pytest.mark.parametrize(
    "words",
    [[f"corpus.pii.key:{KEY}"], ["corpus.pii.key=two", f"{KEY}"], [f"corpus.pii.key.{KEY}=1"], ["corpus.pii.key", KEY]],
)
def test_an_override_that_is_none_shows_no_key(words: list[str], home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", "Recipe.yaml", *words, "--dry-run"]) == 2
    out, err = capfd.readouterr()
    assert not held(out, err)


@pytest.mark.parametrize(
    ("command", "name"), OPTIONS, ids=lambda value: value if isinstance(value, str) else "-".join(value)
)
def test_no_option_of_any_command_is_shown(
    command: tuple[str, ...], name: str, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    form = ("url", "collapsed", "s3")[OPTIONS.index((command, name)) % 3]
    kind = {"instruct": "InstructRecipe", "embed": "EmbedRecipe"}.get(command[0], "Recipe")
    words = list(command)
    for option in dict(commands())[command]:
        value = FORMS[form] if option.name == name else f"{kind}.yaml" if option.name == "recipe" else "1"
        if option.name == name == "overrides":
            value = f"corpus.inputs=[{value}]"
        if option.name == name or option.required:
            words += [option.opts[0], value] if option.opts[0].startswith("-") else [value]
    run_command(words)
    assert not held(*capfd.readouterr())
    assert not held_below(home)


def test_a_masked_message_names_host_and_path(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for key in ("tokenizer.base", "pretrain.init_from"):
        assert run_command(["run", "Recipe.yaml", f"{key}={URL}", "--dry-run"]) == 2
        assert "https:/***@127.0.0.1:9/a" in capfd.readouterr().err.replace("//", "/")


def test_json_stays_json(capsys: pytest.CaptureFixture[str]) -> None:
    from common.progress import print_json

    tree = {
        "url": URL,
        "api_key": KEY,
        "corpus": {"pii": {"key": KEY}},
        "a": 'api_key="two words"',
        "b": ["\x7f", 1, None],
    }
    print_json(tree)
    out = capsys.readouterr().out
    assert not held(out) and json.loads(out)["b"] == ["\x7f", 1, None] and json.loads(out)["url"].endswith("&part=3")
