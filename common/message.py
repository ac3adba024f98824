"""Sentences that can be said in another language: their English, with the template and the values it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any


class _Formatter(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, list):
            return (format_spec or ", ").join(value)
        text = f"{value:,}" if isinstance(value, int) else str(value)
        singular, _, plural = format_spec.partition("/")
        return f"{text} {singular if text == '1' else plural or f'{singular}s'}" if singular else text


def filled(template: str, values: Mapping[str, Any]) -> str:
    """Return a template with its values: texts, whole numbers (which get separators) and lists of texts.

    What stands behind the colon of a field is a noun that it counts (`{count:seed}`, `{count:entry/entries}`), or of a
    list what stands between its parts, else a comma.
    """
    return _Formatter().vformat(template, (), values)


class Message(str):
    """An English sentence, as other strings are, that knows its template and the values in it; see `filled`."""

    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, **values: Any) -> Message:
        made = super().__new__(cls, filled(template, values))
        made.template, made.values = template, values
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:  # type: ignore[override]
        return (self.template,), self.values


def as_tree(part: Any) -> Any:
    """Return a message as JSON holds it, {template: values}; any other string as it is."""
    if isinstance(part, Message):
        return {part.template: {name: as_tree(value) for name, value in part.values.items()}}
    return [*map(as_tree, part)] if isinstance(part, list) else part


def from_tree(tree: Any) -> Any:
    """Return the message or string of which `as_tree` made a tree."""
    if isinstance(tree, dict):
        [(template, values)] = tree.items()
        return Message(template, **{name: from_tree(value) for name, value in values.items()})
    return [*map(from_tree, tree)] if isinstance(tree, list) else tree
