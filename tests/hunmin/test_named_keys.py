"""Every key that a message names is one that the command which prints it takes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

import data.pii.settings
import klue.settings
import pretrain.settings
import tokenizer.settings
from common.errors import UserError
from common.settings import class_at, has_key, inside, parse_settings, under
from hunmin.instruct.recipe import InstructRecipe
from hunmin.main import run_command
from hunmin.recipes.recipe import Recipe, load_recipe
from klue.settings import KlueSettings
from pretrain.settings import PretrainSettings
from tokenizer.settings import TokenizerSettings

ROOT = Path(__file__).parents[2]
FLOORS = ("common", "data", "tokenizer", "pretrain", "klue", "leaderboard", "hunmin")
NO_MESSAGES = ("hunmin/page", "hunmin/launch", "hunmin/hub/card.py", "klue/card.py")
"""Hold markup, scripts of a cluster, and examples in Python: their `name=value` are no settings."""
PARTS_OF_PRETRAIN = ("models", "objectives", "optim")
KINDS = (Recipe, InstructRecipe)
SECTIONS = {name: kind for kind in KINDS for name in kind.model_fields if class_at(kind, [name])}
ANY = "any"
"""Stands for what is put in when a message is written."""
KEY = re.compile(r"(?<![\w./:-])([a-z_]+(?:\.[a-z_]\w*)*)=(?=[\w\[…'\"{-])")
DOTTED = re.compile(r"(?<![\w./:-])((?:[a-z_]+)(?:\.[a-z_]\w*)+)(?![\w(])")
PARTS = {
    *SECTIONS,
    *(name for section, kind in SECTIONS.items() for name in class_at(kind, [section]).model_fields  # type: ignore[union-attr]
      if class_at(kind, [section, name])),
}  # fmt: skip
"""Names that a dotted word of a message is a key by: sections, and sections of these."""


def words(node: ast.AST) -> str | None:
    """Return the text of a literal, with `ANY` for what is put in."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else ANY for part in node.values)
    return None


def literals(path: Path) -> Iterator[tuple[int, str, type[BaseModel] | None]]:
    """Yield (line, text, settings class that it stands in) of a file's literals, docstrings aside."""
    tree = ast.parse(path.read_text("utf-8"))
    of_part = path.parent.name in PARTS_OF_PRETRAIN  # what they say is told by a check of pretrain's settings
    module = pretrain if of_part else {"pretrain": pretrain, "klue": klue, "tokenizer": tokenizer}.get(path.parent.name)

    def walk(node: ast.AST, kind: type[BaseModel] | None) -> Iterator[tuple[int, str, type[BaseModel] | None]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue
            if isinstance(child, ast.ClassDef):
                inner = getattr(getattr(module, "settings", None), child.name, None)
                yield from walk(child, inner if isinstance(inner, type) and issubclass(inner, BaseModel) else kind)
                continue
            text = words(child)
            if text is not None:
                yield child.lineno, text, kind  # type: ignore[attr-defined]
            else:
                yield from walk(child, kind)

    yield from walk(tree, PretrainSettings if of_part else None)


def named_keys() -> Iterator[tuple[str, str, type[BaseModel] | None]]:
    """Yield (place, key, settings class whose check names it) of all messages."""
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            if place.startswith(NO_MESSAGES):
                continue
            for line, text, kind in literals(path):
                if " " not in text:
                    continue
                keys = {match[1] for match in KEY.finditer(text)}
                dotted = {match[1] for match in DOTTED.finditer(text)}
                keys |= {key for key in dotted if key.split(".")[0] in PARTS and not key.endswith(ENDINGS)}
                yield from ((f"{place}:{line}", key, kind) for key in sorted(keys))


ENDINGS = (".json", ".jsonl", ".safetensors", ".job", ".train", ".launch", ".partial", ".txt", ".bin")
"""Of files and modules that look like a key."""
OF_FINETUNE = ("hunmin/commands/klue.py", "hunmin/api.py", "klue/predict.py")
"""Whose messages are of `hunmin klue finetune`, which takes the keys of its section alone, too."""
EXAMPLES = {ANY, "key", "out", "cpu", "memory", "recipe"}
"""Stand for any key, or are no settings of a recipe's sections."""


def is_accepted(key: str) -> bool:
    """Return whether a recipe of either kind takes a key, whatever is put in for `ANY`."""
    return any(_accepts(kind, key) for kind in KINDS)


def _accepts(recipe: type[BaseModel], key: str) -> bool:
    key = key.removesuffix(f".{ANY}")
    if ANY not in key.split("."):
        return key in recipe.model_fields or has_key(recipe, key)
    section, _, leaf = f".{key}".partition(f".{ANY}.")
    section = section.removeprefix(".")
    kind = class_at(recipe, section.split(".")) if section else recipe
    names = kind.model_fields if kind else {}
    return any(has_key(recipe, f"{section}.{name}.{leaf}".removeprefix(".")) for name in names)


def test_every_key_that_a_message_names_is_one_of_a_whole_recipe() -> None:
    keys = list(named_keys())
    assert len(keys) > 100
    wrong = []
    for place, key, kind in keys:
        if key in EXAMPLES or is_accepted(key):
            continue
        if place.startswith(OF_FINETUNE) and has_key(KlueSettings, key):
            continue
        if kind is not None and _accepts(kind, key):  # a section's own check: written out where it is told
            continue
        wrong.append(f"{place}: {key}")
    assert wrong == []


RECIPE = {"name": "t", "out": "run", "corpus": {"inputs": ["x"]}, "klue": {"data": "y"}}
CHECKS = [
    (["pretrain.steps=5"], "e.g. pretrain.optimizer.warmup_steps=0"),
    (["pretrain.engine=torch", "pretrain.zero_stage=2"], "set pretrain.zero_stage=0, or pretrain.engine=deepspeed"),
    (["pretrain.objective=mlm+nsp"], "is learned from pretrain.packing=sentence-pairs"),
    (["pretrain.masking.kind=static", "pretrain.masking.rate_end=0.3"], "set pretrain.masking.kind=dynamic"),
    (["pretrain.global_batch=6", "pretrain.micro_batch=4"], "e.g. pretrain.micro_batch=3"),
    (["tokenizer.model=unigram"], "set tokenizer.pretokenizer=none"),
]


@pytest.mark.parametrize(("changes", "message"), CHECKS, ids=[message for _, message in CHECKS])
def test_a_sections_check_names_whole_keys_and_what_it_says_is_taken(
    changes: list[str], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(RECIPE), "utf-8")
    with pytest.raises(UserError) as caught:
        load_recipe(path, changes)
    assert message in " ".join(str(caught.value).split())
    for change in re.findall(r"\b(?:pretrain|tokenizer)\.[\w.]+=[\w.-]+", message):
        with_it = [*(override for override in changes if override.split("=")[0] != change.split("=")[0]), change]
        try:
            load_recipe(path, with_it)
        except UserError as error:  # it may need more, but it knows the key
            assert "unknown key" not in str(error)


@pytest.mark.parametrize("form", ["training.max_seq_len=64", "klue.training.max_seq_len=64"])
def test_a_command_on_a_section_takes_both_forms(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    met: list[KlueSettings] = []
    monkeypatch.setattr("klue.runner.plan_stage", lambda settings, *_: met.append(settings))
    words = ["klue", "finetune", str(tmp_path), "--data", str(tmp_path), "--out", str(tmp_path / "out"), "--dry-run"]
    assert run_command([*words, form]) == 0
    assert met[0].training.max_seq_len == 64
    assert run_command([*words, form.replace("max_seq_len", "max_seq_lem")]) == 2
    assert "unknown key 'training.max_seq_lem' (did you mean 'max_seq_len'?)" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["pii.enabled=false", "corpus.pii.enabled=false"])
def test_a_recipes_command_on_a_section_takes_both_forms(form: str, tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(RECIPE), "utf-8")
    recipe = load_recipe(path, [form, "out=elsewhere"], section="corpus")
    assert not recipe.corpus.pii.enabled and recipe.out == "elsewhere"
    with pytest.raises(UserError, match=r"unknown key 'corpus\.pii\.enabld'"):
        load_recipe(path, ["pii.enabld=false"], section="corpus")
    assert under(["steps=5", "seed=1", "klue.seeds=2"], "pretrain", Recipe.model_fields) == [
        "pretrain.steps=5", "seed=1", "klue.seeds=2",
    ]  # fmt: skip
    assert inside(["klue.seeds=2", "seeds=3"], "klue") == ["seeds=2", "seeds=3"]


def test_options_are_named_as_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tokenizer", "train", "--corpus", "x", "--out", str(tmp_path / "out")]
    assert run_command([*words, "--vocab-size", "5"]) == 2
    assert "--vocab-size = 5" in capsys.readouterr().err
    pairs = ["--model", "unigram", "--pretokenizer", "morpheme"]
    assert run_command([*words, "--vocab-size", "500", *pairs]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "set --pretokenizer none" in message and "see hunmin tokenizer train --help" in message
    with pytest.raises(UserError, match=r"--token: .*cannot be a token"):
        parse_settings(TokenizerSettings, {"user_tokens": ["[MASK]"]}, "the options", "", {"user_tokens": "--token"})


def test_a_command_without_a_recipe_names_no_key_of_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HUNMIN_PII_KEY", raising=False)
    assert run_command(["corpus", "pseudonymize"]) == 2
    message = capsys.readouterr().err
    assert "HUNMIN_PII_KEY is not set" in message and "pii." not in message
    with pytest.raises(UserError, match=r"corpus\.pii\.enabled=false"):
        data.pii.settings.resolve_key(data.pii.settings.PiiSettings())
