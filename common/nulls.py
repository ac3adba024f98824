"""Settings as people read them: without what is not set."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from common.settings import Settings, class_at, dump_settings


def without_nulls(tree: Any, model: type[BaseModel] | None) -> Any:
    """Return a JSON-like tree of settings without the nulls, and the sections of nothing else, that are defaults.

    Args:
        model: the settings class of the tree, or of what a list or mapping holds.
    """
    if isinstance(tree, list):
        return [without_nulls(item, model) for item in tree]
    if not isinstance(tree, dict):
        return tree
    filled = {}
    for key, value in tree.items():
        field = model.model_fields.get(key) if model else None
        inner = without_nulls(value, class_at(model, [key]) if model and field else model)
        if inner not in (None, {}) or field is None or value != _default(field):
            filled[key] = inner
    return filled


def _default(field: Any) -> Any:
    default = field.get_default(call_default_factory=True)
    return dump_settings(default) if isinstance(default, Settings) else default
