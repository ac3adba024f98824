"""Settings in which runs differ, and those by which none may be called the better one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, get_args

from common.differing import differing
from common.settings import Settings
from hunmin.page.facts import Facts
from hunmin.recipes.recipe import Recipe

NOT_SETTINGS = ("name", "out", "hub", "published")
"""Sections and fields of a recipe on which no figure depends."""
BUDGET = tuple(f"pretrain.{name}" for name in ("steps", "global_batch", "max_seq_len", "batch_warmup", "phases"))
SCORED_ALIKE = tuple(f"klue.{name}" for name in ("baseline_random", "published", "tasks"))
"""Settings of the scores that change none of them."""


def differing_settings(runs: Sequence[Facts]) -> dict[str, list[str | None]]:
    """Return setting → its value in each run, of those settings that are not the same in all; None where one has none.

    Settings that change only how the work is done are left out, of paths all but the last part.
    """
    values = differing([settings_that_count(run.recipe) for run in runs])
    return {name: [_shown(value) for value in each] for name, each in values.items()}


def settings_that_count(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a recipe's tree on which a figure may depend, by names with dots."""
    return dict(_flat(tree, Recipe))


def unequal(runs: Sequence[Facts]) -> list[str]:
    """Return those of "training budget", "data", "masking" and "fine-tuning" that differ: with any, none is better."""
    keys = differing_settings(runs)
    tokens = {run.training.metrics.last("tokens") for run in runs}
    corpora = [{stage.name: stage.counts for stage in run.stages}["corpus"] for run in runs]
    amounts = {tuple(counts.get(name) for name in ("documents", "sentences", "bytes")) for counts in corpora}
    vocabularies = {tuple(run.vocabulary.entries) for run in runs if run.vocabulary}
    tests: dict[str, Callable[[str], bool]] = {
        "training budget": lambda key: key.startswith(BUDGET),
        "data": lambda key: key.startswith(("corpus.", "tokenizer.")),
        "masking": lambda key: key.startswith(("pretrain.masking", "pretrain.objective")),
        "fine-tuning": lambda key: key.startswith("klue.") and not key.startswith(SCORED_ALIKE),
    }
    differs = {name for name, test in tests.items() if any(map(test, keys))}
    differs |= {"training budget"} if len(tokens) > 1 else set()
    differs |= {"data"} if len(amounts) > 1 or len(vocabularies) > 1 else set()
    return [name for name in tests if name in differs]


def _flat(tree: Mapping[str, Any], model: type[Settings] | None, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        field = model.model_fields.get(name) if model else None
        extra = field.json_schema_extra if field else None
        if (not before and name in NOT_SETTINGS) or (
            isinstance(extra, dict) and (extra.get("runtime") or extra.get("secret"))
        ):
            continue
        if isinstance(value, dict):
            yield from _flat(value, _model(field.annotation if field else None), f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _model(annotation: Any) -> type[Settings] | None:
    kinds = [annotation, *get_args(annotation)]
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Settings)), None)


def _shown(value: Any) -> str | None:
    if isinstance(value, list):
        return ", ".join(_shown(element) or "" for element in value)
    if isinstance(value, dict):
        return _shown(value.get("path", list(value.values())))
    if isinstance(value, str) and "/" in value:
        return PurePath(value).name
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)
