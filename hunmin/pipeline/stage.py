"""A stage of a run, and how long stages took by the run's log."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.facts import Facts
from common.settings import Settings, dump_settings
from common.stage_folders import CURRENT_FOLDERS, read_current
from hunmin.pipeline.inputs import Input
from hunmin.recipes.recipe import RunSettings
from pretrain.callbacks.metrics import read_metrics

Counts = dict[str, Any]
StageFunction = Callable[[Any, Path, Path], Counts]
"""Does a stage: (recipe, run folder, folder to write) → counts."""

TIMING = Path("logs") / "timing.jsonl"
"""Log in a run's folder of the seconds that each stage took."""


def stage_times(run: Path) -> dict[str, dict[str, float]]:
    """Return stage → {"seconds": of the command that finished it, "since_begin": of all its commands, 0 if unknown}, by
    the last whole line on its current folder."""
    current = set(read_current(run)[CURRENT_FOLDERS].values())
    rows = [row for row in _timing(run) if not current or str(row.get("folder")) in current]
    times = {}
    for row in rows:
        with suppress(ValueError, TypeError):
            times[str(row["stage"])] = {name: float(row.get(name, 0)) for name in ("seconds", "since_begin")}
    return times


def seconds_of(run: Path, folder: Path) -> float | None:
    """Return the seconds of all commands that worked on a finished folder; None if the log does not tell."""
    rows = [row for row in _timing(run) if row.get("folder") == folder.name]
    try:
        return max(float(rows[-1]["seconds"]), float(rows[-1].get("since_begin", 0))) if rows else None
    except (ValueError, TypeError, KeyError):
        return None


def _timing(run: Path) -> list[dict[str, Any]]:
    return [row for row in read_metrics(run / TIMING) if "stage" in row]


@dataclass(frozen=True)
class Stage:
    """A stage of a run.

    Args:
        name: on the command line; also of its section in the recipe, where it has one.
        after: names of the stages whose output it reads.
        settings: recipe → the settings that its output depends on.
        work: (recipe, run folder, folder to write) → counts; does the stage.
        inputs: recipe → what it reads from outside the run.
        packages: names of the packages whose versions its output depends on.
        model: class of its section, by which defaults and paths among its settings are known.
        unread: glob patterns of files in earlier stages' folders that it never opens, so that they are not verified.
        includes: (facts of earlier work, facts of the recipe, whether that work is finished) → whether it is reused.
        extent: folder of unfinished work → its progress in words, for messages.
        check: (recipe, run folder); raises before the work begins what the work would raise.
    """

    name: str
    after: tuple[str, ...]
    settings: Callable[[Any], dict[str, Any]]
    work: StageFunction
    inputs: Callable[[Any], list[Input]] = lambda recipe: []
    packages: tuple[str, ...] = ()
    model: type[Settings] | None = None
    unread: tuple[str, ...] = ()
    includes: Callable[[Facts, Facts, bool], bool] = lambda before, now, finished: False
    extent: Callable[[Path], str] = lambda folder: ""
    check: Callable[[Any, Path], None] = lambda recipe, run: None

    @property
    def folder(self) -> str:
        """Return the folder's name."""
        return "tokens" if self.name == "encode" else self.name


def section_settings(name: str) -> Callable[[RunSettings], dict[str, Any]]:
    """Return a `Stage.settings` that reads the recipe's section `name`; {} where the recipe has none."""
    return lambda recipe: dump_settings(section) if (section := getattr(recipe, name)) else {}
