"""What a stage of a run is, and what the log says that each took."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.facts import Facts
from common.settings import Settings, dump_settings
from common.stage_folders import COUNTS, read_current
from hunmin.pipeline.inputs import Input
from hunmin.recipes.recipe import RunSettings
from pretrain.callbacks.metrics import read_metrics

Counts = dict[str, Any]
Work = Callable[[Any, Path, Path], Counts]
"""Does a stage: (recipe, run folder, folder to write) → counts."""

TIMING = Path("logs") / "timing.jsonl"
"""In a run's folder: what each stage took."""


def stage_times(run: Path) -> dict[str, dict[str, float]]:
    """Return stage → {"seconds": of the command that finished it, "since_begin": of commands before it as well, 0 where
    that is not known}, of the folders that count; of each the last line that is whole."""
    current = set(read_current(run)[COUNTS].values())
    rows = [row for row in _timing(run) if not current or str(row.get("folder")) in current]
    times = {}
    for row in rows:
        with suppress(ValueError, TypeError):
            times[str(row["stage"])] = {name: float(row.get(name, 0)) for name in ("seconds", "since_begin")}
    return times


def seconds_of(run: Path, folder: Path) -> float | None:
    """Return how long a whole folder was worked on, commands before the one that finished it counted; None if the log
    does not tell."""
    rows = [row for row in _timing(run) if row.get("folder") == folder.name]
    try:
        return max(float(rows[-1]["seconds"]), float(rows[-1].get("since_begin", 0))) if rows else None
    except (ValueError, TypeError, KeyError):
        return None


def _timing(run: Path) -> list[dict[str, Any]]:
    return [row for row in read_metrics(run / TIMING) if "stage" in row]


@dataclass(frozen=True)
class Stage:
    """One stage.

    Args:
        name: name on the command line, and of its section in the recipe where it has one.
        after: stages whose output it reads.
        settings: recipe → the settings its output depends on.
        work: does the stage: (recipe, run folder, folder to write) → counts.
        inputs: recipe → what it reads outside the run.
        packages: packages whose versions the output depends on.
        model: class of its section, which knows defaults and places.
        unread: patterns of the files of stages before it that it does not read.
        includes: whether earlier work counts in the new one: (its facts, the recipe's facts, whether it is finished).
        extent: folder → how far the work in it has come, for messages.
        check: refuses what the work would refuse, before it begins: (recipe, run folder).
    """

    name: str
    after: tuple[str, ...]
    settings: Callable[[Any], dict[str, Any]]
    work: Work
    inputs: Callable[[Any], list[Input]] = lambda recipe: []
    packages: tuple[str, ...] = ()
    model: type[Settings] | None = None
    unread: tuple[str, ...] = ()
    includes: Callable[[Facts, Facts, bool], bool] = lambda before, now, finished: False
    extent: Callable[[Path], str] = lambda folder: ""
    check: Callable[[Any, Path], None] = lambda recipe, run: None

    @property
    def folder(self) -> str:
        """Return what its folder is called."""
        return "tokens" if self.name == "encode" else self.name


def section_settings(name: str) -> Callable[[RunSettings], dict[str, Any]]:
    """Return what gives a stage the settings of a section of the recipe."""
    return lambda recipe: dump_settings(section) if (section := getattr(recipe, name)) else {}
