"""Print docs/recipe.md, the reference of all settings of a recipe, from the settings classes and their docstrings:

    python -m scripts.recipe_reference > docs/recipe.md

`tests/test_recipe_reference.py` fails when the page is not what this prints.
"""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from common.settings import Settings
from hunmin.recipe import Recipe

BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
ENTRY = "[]"
"""Ends the name of the section of what a list holds."""

HEAD = """\
# Recipe reference

<!-- Written by scripts/recipe_reference.py from the settings' docstrings; edit those. -->

Every setting of a recipe, from the classes that read it. A recipe is YAML with these sections, one below the other; on
the command line the same setting is `key=value` with dots: `pretrain.optimizer.lr=2e-4`. An unknown key or a value out
of its range is an error that names the key, the rule and the nearest known name. Rules between several settings
(`micro_batch` and `global_batch`, say) are told by the error as well: `hunmin run RECIPE --dry-run` checks it all.

*Free* settings change how the work is done and not what comes out: they may have another value when a run goes on. Any
other value that changes redoes its stage and those that read it; training that it does not fit is moved aside, not
deleted (`tests/hunmin/test_run.py`). *required* means that there is no default.
"""


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
    return next((found for kind in typing.get_args(annotation) if (found := settings_in(kind))), None)


def settings_in(annotation: Any) -> type[Settings] | None:
    """Return the settings class that an annotation is, or may be (`X | None`)."""
    for kind in (annotation, *typing.get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, Settings):
            return kind
    return None


def type_of(annotation: Any, name: str = "") -> str:
    """Return the type of a setting as a person reads it; the words of a choice stand for it."""
    arguments = typing.get_args(annotation)
    origin = typing.get_origin(annotation)
    if annotation is type(None):
        return "none"
    if origin is typing.Literal:
        return " / ".join(f"`{value}`" for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(type_of(argument, name) for argument in arguments)
    if origin is list:
        return f"list of {type_of(arguments[0], name + ENTRY)}"
    if origin is dict:
        return f"mapping of {type_of(arguments[0])} to {type_of(arguments[1])}"
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return f"`{name}`" if name.endswith(ENTRY) else "section"
    return {"str": "text", "int": "whole number", "float": "number", "bool": "true / false"}[annotation.__name__]


def values_of(field: FieldInfo, name: str) -> str:
    """Return type and range of a setting."""
    bounds = [
        f"{sign} {getattr(rule, name):g}"
        for rule in field.metadata
        for name, sign in BOUNDS.items()
        if getattr(rule, name, None) is not None
    ]
    longer = [f"at least {rule.min_length}" for rule in field.metadata if getattr(rule, "min_length", 0)]
    return ", ".join([type_of(field.annotation, name), *bounds, *longer])


def default_of(field: FieldInfo) -> str:
    """Return the default as a recipe would write it."""
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined or value is ...:
        return "*required*"
    if isinstance(value, float) and not value.is_integer():
        return f"`{value:g}`"
    if value is None:
        return "none"
    return f"`{json.dumps(value, ensure_ascii=False)}`" if not isinstance(value, str) else f"`{value or chr(34) * 2}`"


def table(kind: type[BaseModel], section: str) -> list[str]:
    """Return the rows of a class's settings that are no sections of their own."""
    lines = ["| setting | value | default | free | meaning |", "|---|---|---|---|---|"]
    for name, field in kind.model_fields.items():
        if settings_in(field.annotation) and not entries_in(field.annotation):
            continue
        extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        free = "yes, and never written" if extra.get("secret") else "yes" if extra.get("runtime") else ""
        cells = [
            f"`{name}`",
            values_of(field, f"{section}.{name}"),
            default_of(field),
            free,
            one_line(field.description or ""),
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines if len(lines) > 2 else []


def one_line(text: str) -> str:
    """Return a docstring as one line, with what HTML would take for marks kept as it is."""
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"(?<!`)<", "&lt;", text)


def page() -> str:
    """Return docs/recipe.md."""
    parts, told = [HEAD], {}
    for name, kind in sections():
        if name:
            parts.append(f"{'##' if name.count('.') == 0 else '###'} `{name}`\n")
        description = one_line(_meaning(name)) or one_line(kind.__doc__ or "")
        parts.append(description + "\n")
        if kind in told:
            parts.append(f"The settings of `{told[kind]}`.\n")
            continue
        told[kind] = name
        if rows := table(kind, name):
            parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def _meaning(name: str) -> str:
    """Return the docstring of the field that a section is; "" of the recipe itself and within a list."""
    kind: Any = Recipe
    field = None
    for part in name.split(".") if name and ENTRY not in name else ():
        field = kind.model_fields[part]
        kind = settings_in(field.annotation)
    return (field.description or "") if field else ""


if __name__ == "__main__":
    print(page(), end="")
