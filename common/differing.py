"""In what several sets of settings differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def differing(settings: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return name → its value in each, of the settings that are not the same in all; None where one has none."""
    values = {name: [one.get(name) for one in settings] for name in dict.fromkeys(n for one in settings for n in one)}
    return {name: each for name, each in values.items() if any(value != each[0] for value in each)}
