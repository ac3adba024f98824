"""Print docs/recipe.md, the reference of all settings of a recipe, from the settings classes and their docstrings, or
its Korean twin, with `recipe_reference.ko.yaml` for the texts (a list of `en` and `ko`, found by the English, so that a
text that changes has no Korean until somebody has read it again):

    python -m scripts.recipe_reference > docs/recipe.md
    python -m scripts.recipe_reference --language ko > docs/recipe.ko.md

`make docs` does both. A text without its Korean, or a Korean one of no text, ends with exit code 2.
`tests/test_recipe_reference.py` fails when a page is not what this prints.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
import types
import typing
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from common.errors import UserError
from common.settings import Settings
from hunmin.instruct.recipe import InstructRecipe
from hunmin.recipes.recipe import INSTRUCT_SECTIONS, Recipe

KOREAN = Path(__file__).with_name("recipe_reference.ko.yaml")
BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
ENTRY = "[]"
"""Ends the name of the section of what a list holds."""

TYPES = {"str": "text", "int": "whole number", "float": "number", "bool": "true / false"}
COLUMNS = ("setting", "value", "default", "free", "meaning")

HEAD = (
    "# Recipe reference",
    "[한국어](recipe.ko.md)",
    "<!-- Written by scripts/recipe_reference.py from the settings' docstrings; edit those. -->",
    """\
Every setting of a recipe, generated from the code that reads it. A recipe is a YAML file with the sections below.
On the command line, give a setting as `key=value` with dots: `pretrain.optimizer.learning_rate=2e-4`. An unknown
key or a value out of range is an error that names the key, the rule and the nearest known name. Rules between
settings (such as `micro_batch` and `global_batch`) are checked too; `hunmin run RECIPE --dry-run` checks
everything.""",
    """\
*Free* settings change how the work is done but not the output: they may have another value when a run resumes. If
any other setting changes, its stage and the stages that read its output run again; where that would replace more
than a minute of work, only with `--restart STAGE`. What was there stays in a folder of its own
(`tests/hunmin/pipeline/test_run.py`). *required* means that there is no default.""",
)

DECODER = """\
The sections below are those of a recipe that tunes a decoder. It has `name`, `out`, `seed` and `hub.commits` as above,
and `instruct`, `tune` and `leaderboard` instead of the other sections."""


class Texts:
    """What a page says, by a file of Korean texts or (None) in English; remembers what it was asked for."""

    def __init__(self, file: Path | None) -> None:
        self._asked: dict[str, str] = {}
        self._korean: dict[str, str] | None = None
        if file is None:
            return
        self._name = f"scripts/{file.name}"
        try:
            entries = yaml.safe_load(file.read_text(encoding="utf-8"))
            pairs = [(one_line(entry["en"]), entry["ko"].strip()) for entry in entries]
        except (yaml.YAMLError, TypeError, KeyError, AttributeError) as error:
            problem = f"{self._name} cannot be read: {type(error).__name__}: {error}"
            raise UserError(problem, "it is a YAML list of entries with `en` and `ko`", f"fix {self._name}") from error
        self._korean = dict(pairs)
        english, count = Counter(english for english, _ in pairs).most_common(1)[0]
        if count > 1:
            problem = f"{self._name} has two entries of '{english}'"
            raise UserError(problem, "a text has one translation", "delete one of them")

    def __call__(self, english: str, place: str) -> str:
        """Return a text of a setting, or part of the page, in its language; English where `check` misses it."""
        key = one_line(english)
        self._asked.setdefault(key, place)
        return english if self._korean is None else self._korean.get(key, english)

    def check(self) -> None:
        """Raise UserError for a docstring or a translation that is missing, or a translation that is of no text."""
        if "" in self._asked:
            problem = f"{self._asked['']} has no docstring"
            raise UserError(problem, "the reference says of every setting what it means", "write one below the setting")
        if self._korean is None:
            return
        left_over = [key for key in self._korean if key not in self._asked]
        wrong = []
        for key, place in self._asked.items():
            if not self._korean.get(key):
                near = difflib.get_close_matches(key, left_over, n=1, cutoff=0.5)
                wrong.append(f"{place} has no Korean: '{key}'" + "".join(f"\n  it was: '{was}'" for was in near))
        wrong = wrong or [f"of no setting: '{key}'" for key in left_over]
        if wrong:
            rule = f"{self._name} has the Korean of every text of the reference, found by its English, and no others"
            raise UserError("\n".join(wrong), rule, f"edit `en` and `ko` in {self._name}; add or delete entries")


def one_line(text: str) -> str:
    return " ".join(text.split())


def sections(kind: type[BaseModel] = Recipe, name: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield (dotted name, class) of a settings class and of all within it, in the order in which they are declared."""
    yield name, kind
    for field_name, field in kind.model_fields.items():
        dotted = f"{name}.{field_name}".lstrip(".")
        if entry := entries_in(field.annotation):
            yield from sections(entry, dotted + ENTRY)
        elif inner := settings_in(field.annotation):
            yield from sections(inner, dotted)


def entries_in(annotation: Any) -> type[Settings] | None:
    """Return the settings class of which an annotation is a list."""
    if typing.get_origin(annotation) is not list:
        return None
    return next((settings for kind in typing.get_args(annotation) if (settings := settings_in(kind))), None)


def settings_in(annotation: Any) -> type[Settings] | None:
    """Return the settings class that an annotation is, or may be (`X | None`)."""
    for kind in (annotation, *typing.get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, Settings):
            return kind
    return None


def type_of(annotation: Any, say: Texts, name: str) -> str:
    """Return the type of a setting as a person reads it; the words of a choice stand for it."""
    arguments = typing.get_args(annotation)
    origin = typing.get_origin(annotation)
    if annotation is type(None):
        return say("none", name)
    if origin is typing.Literal:
        return " / ".join(f"`{value}`" for value in arguments)
    if origin in (typing.Union, types.UnionType):
        kinds = [type_of(argument, say, name) for argument in arguments]
        return reduce(lambda first, second: say("{} or {}", name).format(first, second), kinds)
    if origin is typing.Annotated:
        return type_of(arguments[0], say, name)
    if origin in (list, tuple):
        return say("list of {}", name).format(type_of(arguments[0], say, name + ENTRY))
    if origin is dict:
        kinds = [type_of(argument, say, name) for argument in arguments]
        return say("mapping of {} to {}", name).format(*kinds)
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return f"`{name}`"
    return say(TYPES[annotation.__name__], name)


def values_of(field: FieldInfo, say: Texts, name: str) -> str:
    """Return type and range of a setting."""
    bounds = [
        f"{sign} {getattr(rule, bound):g}"
        for rule in field.metadata
        for bound, sign in BOUNDS.items()
        if getattr(rule, bound, None) is not None
    ]
    lengths = [rule.min_length for rule in field.metadata if getattr(rule, "min_length", 0)]
    longer = [say("at least {}", name).format(length) for length in lengths]
    return ", ".join([type_of(field.annotation, say, name), *bounds, *longer])


def default_of(field: FieldInfo, say: Texts, name: str) -> str:
    """Return the default as a recipe would write it."""
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined or value is ...:
        return say("*required*", name)
    if isinstance(value, float) and not value.is_integer():
        return f"`{value:g}`"
    if value is None:
        return say("none", name)
    return f"`{json.dumps(value, ensure_ascii=False)}`" if not isinstance(value, str) else f"`{value or chr(34) * 2}`"


def table(kind: type[BaseModel], say: Texts, section: str) -> list[str]:
    """Return the rows of a class's settings that are no sections of their own."""
    head = " | ".join(say(column, "the tables' head") for column in COLUMNS)
    lines = [f"| {head} |", "|---|---|---|---|---|"]
    for name, field in kind.model_fields.items():
        if settings_in(field.annotation) and not entries_in(field.annotation):
            continue
        extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        dotted = f"{section}.{name}".lstrip(".")
        free = "yes, and never written" if extra.get("secret") else "yes" if extra.get("runtime") else ""
        cells = [
            f"`{name}`",
            values_of(field, say, dotted),
            default_of(field, say, dotted),
            say(free, dotted) if free else "",
            as_markdown(say(field.description or "", dotted)),
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines if len(lines) > 2 else []


def as_markdown(text: str) -> str:
    """Return a docstring as one line, with what HTML would take for marks kept as it is."""
    return re.sub(r"(?<!`)<", "&lt;", one_line(text))


def page(say: Texts) -> str:
    """Return docs/recipe.md in the language of the texts. Raises UserError for a missing or left-over text."""
    shown_in: dict[type[BaseModel], str] = {}
    parts = [say(part, "the head of the page") + "\n" for part in HEAD]
    decoder = [section for section in sections(InstructRecipe) if section[0].split(".")[0] in INSTRUCT_SECTIONS]
    for name, kind in [*sections(), *decoder]:
        if name == "instruct":
            parts.append(say(DECODER, "the head of a decoder's sections") + "\n")
        if name:
            parts.append(f"{'##' if name.count('.') == 0 else '###'} `{name}`\n")
        description = one_line(_meaning(name)) or one_line(kind.__doc__ or "")
        parts.append(as_markdown(say(description, name or "the recipe")) + "\n")
        if kind in shown_in:
            parts.append(say("The settings of {}.", name).format(f"`{shown_in[kind]}`") + "\n")
            continue
        shown_in[kind] = name
        if rows := table(kind, say, name):
            parts.append("\n".join(rows) + "\n")
    say.check()
    return "\n".join(parts)


def _meaning(name: str) -> str:
    """Return the docstring of the field that a section is; "" of the recipe itself and within a list."""
    kind: Any = InstructRecipe if name.split(".")[0] in INSTRUCT_SECTIONS else Recipe
    field = None
    for part in name.split(".") if name and ENTRY not in name else ():
        field = kind.model_fields[part]
        kind = settings_in(field.annotation)
    return (field.description or "") if field else ""


def main(arguments: Sequence[str] | None = None, file: Path = KOREAN) -> int:
    """Print the page; the exit code is 2 when a text is missing or left over."""
    parser = argparse.ArgumentParser(description="Print the reference of all settings of a recipe.")
    parser.add_argument("--language", choices=["en", "ko"], default="en")
    try:
        korean = parser.parse_args(arguments).language == "ko"
        print(page(Texts(file if korean else None)), end="")
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
