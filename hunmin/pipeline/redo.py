"""Work that a run would do again: refused where it took more than a minute, and the user has not asked for it."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from common.current import refuse_taken_name
from common.errors import UserError
from common.manifest import WORK_MARK
from common.once import BEGUN
from common.progress import duration
from common.stage_folders import links_of
from hunmin.page.page import PAGE, is_page
from hunmin.pipeline.stage import Stage, seconds_of
from hunmin.pipeline.state import KEY_DIFFERS, Verdict
from hunmin.recipes.recipe import is_resolved_recipe
from pretrain.callbacks.branch import may_differ
from pretrain.training_stage import checkpoints_in

LONG_SECONDS = 60.0
"""Work that took longer is done again only when the user asks for it."""
BRANCH = "pretrain.branch_from"
PIECES = {"corpus": ("units-*", "units-*/*"), "klue": ("jobs/*", "jobs/*/*")}
"""Stage → patterns of its files that lie beside its folder."""
MOST_SHOWN = 12
"""Changes that a message lists."""


def refuse_foreign(run: Path, stages: Sequence[Stage]) -> None:
    """Refuse a run folder where a name that the run writes is taken by something that Hunmin did not make.

    Raises:
        UserError: one is taken; nothing has been written.
    """
    for stage in stages:
        for link in links_of(run, stage.folder):
            refuse_taken_name(link, stage.name)
    for name, is_own in (("recipe.yaml", is_resolved_recipe), (PAGE, is_page)):
        path = run / name
        if os.path.lexists(path) and not is_own(path):
            raise UserError(
                f"{path} is your own file: the run writes {name} there",
                "a run replaces only what it has made itself",
                "move it out of the run folder",
            )


def given_up(verdicts: Sequence[Verdict], restart: str | None, stages: Sequence[Stage]) -> set[str]:
    """Return the names of the stages that the user asked to do again.

    Args:
        restart: first stage to do again (`--from`, `--restart`); a changed branch asks for its training, too.
        stages: all of the recipe.
    """
    begins = [restart] if restart else []
    for verdict in verdicts:
        changes = [line for lines in verdict.earlier.values() for line in lines]
        if any(change.startswith(f"{BRANCH}: ") and not change.endswith(" null") for change in changes):
            begins.append(verdict.stage.name)
    names = [stage.name for stage in stages]
    return {name for begin in begins for name in names[names.index(begin) :]}


def refuse_redoing(run: Path, verdicts: Sequence[Verdict], asked: Collection[str]) -> None:
    """Refuse to do again what took more than a minute, unless it was asked for.

    Args:
        run: the run's folder.
        verdicts: of the stages that the run does, in order.
        asked: see `given_up`.

    Raises:
        UserError: a stage would be done again; the message says what changed and what to do.
    """
    for verdict in verdicts:
        if verdict.done or verdict.resumes or verdict.stage.name in asked:
            continue
        for work, own in verdict.earlier.items():
            changes = own or verdict.roots
            seconds = work_seconds(run, work)
            # another key is a mistake more often than a wish: pseudonyms of two keys do not go together
            if changes and (seconds is None or seconds > LONG_SECONDS or KEY_DIFFERS in changes):
                raise _refusal(verdict.stage, work, seconds, changes)


def work_seconds(run: Path, folder: Path) -> float | None:
    """Return the seconds that the work in a stage's folder took, None if unknown.

    Of unfinished work this is the span from the earliest to the latest time of its mark and files, in any order: after
    a clock was set back, the last file is dated before the first.
    """
    mark = folder / WORK_MARK
    if not mark.is_file():
        return seconds_of(run, folder)
    try:
        begun = float(json.loads(mark.read_bytes())[BEGUN])
    except (ValueError, KeyError, TypeError):
        return None
    times = [begun, *(path.lstat().st_mtime for path in folder.rglob("*"))]
    for pattern in PIECES.get(folder.name.partition("-")[0], ()):
        times += [time for path in folder.parent.glob(pattern) if (time := path.lstat().st_mtime) > begun]
    return max(times) - min(times)


def _refusal(stage: Stage, folder: Path, seconds: float | None, changes: Sequence[str]) -> UserError:
    extent = stage.extent(folder)
    work = " and ".join(filter(None, [extent, duration(seconds) + " of work" if seconds is not None else ""]))
    ways = ["restore what changed: the same command then continues"]
    if KEY_DIFFERS in changes:
        ways = ["set HUNMIN_PII_KEY to the run's own key: the same command then continues"]
    if (checkpoints := checkpoints_in(folder)) and _may_branch(changes):
        ways.append(f"train on from a checkpoint: {BRANCH}={checkpoints[max(checkpoints)]}")
    ways.append(f"do the stage again: hunmin run … --restart {stage.name} (what is there stays)")
    shown = [*changes[:MOST_SHOWN], *([f"{len(changes) - MOST_SHOWN} more"] if len(changes) > MOST_SHOWN else [])]
    return UserError(
        f"this run would do the stage '{stage.name}' again; {folder}" + (f" holds {work}" if work else " is there")
        + "; changed since:\n" + "\n".join(f"  - {change}" for change in shown),
        "work of another key, and more than a minute of any work, is done again only when asked for"
        if KEY_DIFFERS in changes else "more than a minute of work is done again only when asked for",
        "\n        ".join(ways),
    )  # fmt: skip


def _may_branch(changes: Sequence[str]) -> bool:
    keys = [change.partition(":")[0] for change in changes]
    return all(key.startswith("pretrain.") and may_differ(key.removeprefix("pretrain.")) for key in keys)
