"""Strict settings: frozen pydantic models, safe YAML, `key=value` overrides, and errors a person can act on."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from common.errors import UserError, nearest
from common.files import read_bytes
from common.safe_yaml import parse_yaml, yaml_fault
from common.secrets import MASK, is_secret_name, masked_logins, masked_setting, remember


class Settings(BaseModel):
    """Base of every settings class: unknown keys, infinity and NaN are refused; values are frozen, docstrings kept."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, validate_default=True, allow_inf_nan=False,
        hide_input_in_errors=True,
    )  # fmt: skip

    ELSEWHERE: ClassVar[Mapping[str, str]] = {}
    """Name that a setting has in other libraries → its name. A recipe with the other one is refused and told the name.
    """


S = TypeVar("S", bound=Settings)


def runtime(default: Any, **constraints: Any) -> Any:
    """Return a pydantic field for a setting that changes how the work is done, never what comes out."""
    return Field(default, json_schema_extra={"runtime": True}, **constraints)


def secret(default: Any) -> Any:
    """Return a pydantic field whose value is never written anywhere."""
    return Field(default, json_schema_extra={"runtime": True, "secret": True}, repr=False)


def place(default: Any = ..., **constraints: Any) -> Any:
    """Return a pydantic field for a path, URL or name: the content read there counts, not the path."""
    return Field(default, json_schema_extra={"place": True}, **constraints)


def dump_settings(settings: Settings, drop: str = "runtime") -> dict[str, Any]:
    """Return settings as a JSON-like tree without the fields marked `drop` ("runtime" or "secret").

    Without "runtime" fields the tree holds just what the output depends on; without "secret" fields it may be saved.
    In either case what logs in at a URL is masked.
    """
    tree: dict[str, Any] = {}
    for name, field in type(settings).model_fields.items():
        extra = field.json_schema_extra
        if isinstance(extra, dict) and extra.get(drop):
            continue
        tree[name] = _dump_value(getattr(settings, name), drop)
    return tree


def _dump_value(value: Any, drop: str) -> Any:
    if isinstance(value, Settings):
        return dump_settings(value, drop)
    if isinstance(value, (list, tuple)):
        return [_dump_value(item, drop) for item in value]
    if isinstance(value, dict):
        # commits stand in mappings, by the name of what they pin: no keys, though they look like one of wandb
        return {
            masked_logins(str(key)): masked_logins(item) if isinstance(item, str) else _dump_value(item, drop)
            for key, item in value.items()
        }
    return masked_setting(value) if isinstance(value, str) else value


PLAIN_WITH_HASH = re.compile(r"(?![\s\[{\"'])(?:\S.*)?(?<!\S)#")
"""A value that YAML would end at a comment: neither quoted, nor a list or a mapping."""


def load_yaml(path: str | Path) -> dict[str, Any]:
    """Return the mapping in a YAML file, read with the safe loader.

    Raises:
        UserError: the file is missing, is not YAML, or does not hold a mapping.
    """
    path = Path(path)
    try:
        text = read_bytes(path).decode()
    except OSError as error:
        known = [p.name for p in path.parent.glob("*.yaml")] if path.parent.is_dir() else []
        raise UserError(
            f"cannot read {path}: {error.strerror}{nearest(path.name, known)}",
            "a recipe is a readable YAML file",
            "see configs/ for recipes to start from",
        ) from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8", "a recipe is a UTF-8 YAML file", "convert the file") from None
    try:
        loaded = parse_yaml(text)
    except yaml.YAMLError as error:
        raise UserError(f"{path} is not valid YAML: {yaml_fault(error)}", fix="fix the line named above") from None
    if not isinstance(loaded, dict):
        raise UserError(f"{path} holds {type(loaded).__name__}, not a mapping", "a recipe is a mapping of settings")
    remember(loaded)
    return loaded


def apply_overrides(tree: dict[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """Return a copy of `tree` with `a.b=value` overrides applied; values are parsed as YAML.

    Raises:
        UserError: an override has no "=", or its path runs through something that is not a mapping.
    """
    tree = copy.deepcopy(tree)
    remember(overrides := list(overrides))
    for number, override in enumerate(overrides):
        key, equals, text = override.partition("=")
        if not equals or not key:
            before = overrides[number - 1].partition("=")[0] if number else ""  # of a secret that the shell has cut
            raise UserError(
                f"'{MASK if is_secret_name(before) else override}' is not an override",
                "overrides are written key=value",
                "e.g. pretrain.steps=100",
            )
        *parents, leaf = key.split(".")
        node: Any = tree
        for depth, name in enumerate(parents):
            if not isinstance(node, dict):
                parents = parents[:depth]
                break
            if node.get(name) is None:  # a section that is left out, or empty
                node[name] = {}
            node = node[name]
        if not isinstance(node, dict):
            raise UserError(f"'{'.'.join(parents)}' is a value, not a section", "a dotted key names sections")
        try:
            # a word on the command line has no comments: YAML would cut it at a # without saying so
            node[leaf] = text if PLAIN_WITH_HASH.match(text) else parse_yaml(text)
        except yaml.YAMLError as error:
            problem = f"what follows '{key}=' is not a YAML value: {yaml_fault(error)}"
            raise UserError(problem, fix="quote it") from None
    return tree


def inside(overrides: Iterable[str], section: str) -> list[str]:
    """Return overrides for a command whose settings are a section: `section.key=value` is `key=value` there."""
    return [override.removeprefix(f"{section}.") for override in overrides]


def under(overrides: Iterable[str], section: str, known: Container[str]) -> list[str]:
    """Return overrides for a command that works on a section of a recipe: `key=value` is `section.key=value`.

    Args:
        overrides: as the command is given them.
        section: that it works on.
        known: names at the top of a recipe, which stay what they are.
    """
    return [
        override if re.split(r"[.=]", override, maxsplit=1)[0] in known else f"{section}.{override}"
        for override in overrides
    ]


FIX = "fix the recipe, or override with key=value"


def parse_settings(
    model: type[S],
    tree: dict[str, Any],
    source: str,
    fix: str = FIX,
    options: Mapping[str, str] | None = None,
) -> S:
    """Return `tree` as an instance of `model`.

    Args:
        source: where the values came from, for the message.
        fix: what to do about wrong values.
        options: where the values are a command's options: names of those that are not called as the setting is.

    Raises:
        UserError: every value that broke a rule, with its dotted key, and for unknown keys the nearest known one.
    """
    try:
        return model.model_validate(tree)
    except ValidationError as error:
        lines = [_explain(model, item, options) for item in error.errors() if not _is_of_other_form(item)]
        raise UserError(
            f"{source}: {len(lines)} setting{'s' if len(lines) > 1 else ''} wrong\n"
            + "\n".join(f"  - {line}" for line in lines),
            fix=fix,
        ) from None


def _is_of_other_form(item: Any) -> bool:
    """Return whether an error says that a mapping is no string, where either may stand: what is wrong within it is
    another error."""
    return item["type"] == "string_type" and item["loc"][-1:] == ("str",) and isinstance(item["input"], dict)


_CLASS = re.compile(r"[A-Z]|function-\w+\[")
"""Begins a part of a location that names a class, which is no key."""


def _explain(model: type[BaseModel], item: Any, options: Mapping[str, str] | None) -> str:
    *outer, last = item["loc"] or ("",)
    location = [part for part in outer if isinstance(part, int) or not _CLASS.match(str(part))]
    if item["type"] == "extra_forbidden" or not _CLASS.match(str(last)):
        location += [last] if item["loc"] else []
    key = ".".join(str(part) for part in location)
    if options is not None and key:
        key = _option(key, options)
    if item["type"] == "extra_forbidden":
        kind = class_at(model, location[:-1])
        if meant := kind and issubclass(kind, Settings) and kind.ELSEWHERE.get(str(location[-1])):
            return f"unknown key '{key}' (did you mean '{meant}'?)"
        known = list(kind.model_fields) if kind else []
        close = nearest(str(location[-1]), known)
        if len(location) == 1 and kind and (inner := _sections_with(kind, key)):
            close = f" (did you mean '{inner[0]}.{key}'?)"
        if kind and _holds_secret(kind) and not close:  # a key of the pseudonyms that was taken for a name
            return f"unknown key '{key.removesuffix(str(location[-1]))}{MASK}'; known: {', '.join(known)}"
        return f"unknown key '{key}'{close}"
    if item["type"] == "missing":
        return f"'{key}' is missing: give it in the recipe or as {key}=VALUE"
    said = str(item["msg"]).removeprefix("Value error, ").replace("a valid tuple", "a list")
    if item["type"] in ("list_type", "tuple_type") and re.fullmatch(r"[\w.-]+", str(item["input"])) and key:
        said = f"write a list: {key}=[{item['input']}]"
    message = _spelled(said.replace("a valid dictionary", "a mapping"), model, location, options)
    value = item["input"]
    if _is_secret(model, location):
        section = class_at(model, location)
        fields = section.model_fields if section else {}
        for text in [str(value)] if not isinstance(value, (dict, list)) else map(str, value):
            if text not in fields and not _WORD.fullmatch(text):
                message = message.replace(text, MASK)
                value = MASK if value == item["input"] else value
    if isinstance(item["input"], (dict, list)) or not key:
        return f"{key}: {message}" if key else message
    return f"{key} = {value if value is MASK else repr(value)}: {message}"


def _sections_with(kind: type[BaseModel], key: str) -> list[str]:
    classes = {name: _settings_class(field.annotation) for name, field in kind.model_fields.items()}
    return [name for name, inner in classes.items() if inner and key in inner.model_fields]


_WORD = re.compile(r"[A-Z_]*|[a-z]{0,7}|-?[0-9.]{0,7}")
"""What no key of 16 characters is: a type's name, yes, 1.5."""


def _is_secret(model: type[BaseModel], location: Sequence[Any]) -> bool:
    """Return whether a value may be a secret: what stands in a section that holds one, or instead of such a section."""
    return any(
        (kind := class_at(model, location[:end])) is not None and _holds_secret(kind, deep=end == len(location))
        for end in (len(location) - 1, len(location))
    )


def _holds_secret(kind: type[BaseModel], deep: bool = False) -> bool:
    """Return whether a settings class has a secret among its fields; `deep`: or among those of its sections."""
    return any(
        (isinstance(field.json_schema_extra, dict) and bool(field.json_schema_extra.get("secret")))
        or bool(deep and (inner := _settings_class(field.annotation)) and _holds_secret(inner, deep))
        for field in kind.model_fields.values()
    )


def _spelled(message: str, model: type[BaseModel], location: list[Any], options: Mapping[str, str] | None) -> str:
    """Return the message of a section's own check, with its keys as the reader would write them."""
    if not all(isinstance(part, str) for part in location):
        return message  # an entry of a list has no key
    section = location if class_at(model, location) else location[:-1]
    kind = class_at(model, section)
    if kind is None:
        return message
    if options is not None:
        return _with_keys(message, kind, lambda key, equals: _option(key, options) + " " * bool(equals))
    return qualified(message, kind, ".".join(map(str, section)))


def qualified(message: str, kind: type[BaseModel], section: str) -> str:
    """Return a message of a section's settings with its keys as a whole recipe has them.

    >>> from common.settings import Settings
    >>> class Training(Settings): steps: int
    >>> qualified("set steps=5", Training, "pretrain")
    'set pretrain.steps=5'
    """
    return _with_keys(message, kind, lambda key, equals: f"{section}.{key}{equals}" if section else key + equals)


_KEY = re.compile(r"(?<![\w./-])([a-z_]\w*(?:\.[a-z_]\w*)*)(=?)")


def _with_keys(message: str, kind: type[BaseModel], write: Callable[[str, str], str]) -> str:
    """Return a message with its keys (`key=`, `key.key`) written anew; other words stay."""

    def replaced(match: re.Match[str]) -> str:
        key, equals = match.groups()
        named = (equals or "." in key) and has_key(kind, key)
        return write(key, equals) if named else match[0]

    return _KEY.sub(replaced, message)


def _option(key: str, options: Mapping[str, str]) -> str:
    return options.get(key) or f"--{key.replace('_', '-')}"


def has_key(model: type[BaseModel], key: str) -> bool:
    """Return whether a dotted key is one of a settings class's."""
    *section, leaf = key.split(".")
    return leaf in _fields_at(model, section)


def class_at(model: type[BaseModel], location: Sequence[Any]) -> type[BaseModel] | None:
    """Return the settings class at a place of another one; None where there is none."""
    current: Any = model
    is_key = False
    for part in location:
        if isinstance(part, int) or is_key:
            is_key = False
            continue
        field = current.model_fields.get(part)
        is_key = field is not None and get_origin(field.annotation) is dict  # what comes next is one of its own
        current = _settings_class(field.annotation) if field else None
        if current is None:
            return None
    return current  # type: ignore[no-any-return]


def _fields_at(model: type[BaseModel], location: Sequence[Any]) -> list[str]:
    settings_class = class_at(model, location)
    return list(settings_class.model_fields) if settings_class else []


def _settings_class(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, UnionType, list, tuple, dict):
        for inner in get_args(annotation):
            model = _settings_class(inner)
            if model:
                return model
    return None


def settings_hash(tree: Any) -> str:
    """Return 16 hex digits that identify a JSON-like tree, whatever the order of its keys."""
    text = json.dumps(tree, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def changed_keys(
    old: Any, new: Any, prefix: str = "", model: type[BaseModel] | None = None, places: bool = False
) -> list[str]:
    """Return "key: old → new" for every leaf that differs between two JSON-like trees.

    Args:
        old: the tree of before.
        new: the tree of now.
        prefix: what the keys begin with.
        model: the settings class of the trees: what `old` lacks had its default before it could be set.
        places: compare `place` fields, too; without `model` all are compared.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        changes: list[str] = []
        for key in sorted(set(old) | set(new)):
            field = model.model_fields.get(key) if model else None
            extra = field.json_schema_extra if field else None
            if isinstance(extra, dict) and extra.get("place") and not places:
                continue
            if (
                key not in old
                and field
                and new[key] == _dump_value(field.get_default(call_default_factory=True), "runtime")
            ):
                continue
            inner = _settings_class(field.annotation) if field else model  # of a mapping's entries: the same class
            name = f"{prefix}.{key}" if prefix else str(key)
            changes += changed_keys(old.get(key), new.get(key), name, inner, places)
        return changes
    listed = model and isinstance(old, list) and isinstance(new, list) and len(old) == len(new)
    if listed and not any(changed_keys(*pair, model=model, places=places) for pair in zip(old, new, strict=True)):
        return []
    return [] if old == new else [f"{prefix}: {_short(old)} → {_short(new)}"]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
