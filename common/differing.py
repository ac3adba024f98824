"""Differences between several sets of settings, and the note on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from common.message import Message


def differing(settings: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return name → its value in each set, of the settings that differ between sets; None where a set lacks it."""
    values = {
        name: [each.get(name) for each in settings] for name in dict.fromkeys(n for each in settings for n in each)
    }
    return {name: each for name, each in values.items() if any(value != each[0] for value in each)}


def unequal_note(differs: Mapping[str, Iterable[str]]) -> list[str]:
    """Return a sentence for each group of tasks whose rows differ in the same settings.

    Args:
        differs: title of a task → names of the settings in which its rows differ; none where they do not.
    """
    titles: dict[tuple[str, ...], list[str]] = {}
    for title, names in differs.items():
        titles.setdefault(tuple(names), []).append(title)
    text = "No score is marked as the best of {tasks}: rows differ in {settings}."
    return [Message(text, tasks=tasks, settings=[*names]) for names, tasks in titles.items() if names]
