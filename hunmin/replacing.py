"""What a run would replace: refused where it is not the run's own, or is more than a minute of work nobody gave up."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from common.errors import UserError
from common.files import remove_folder
from common.manifest import MANIFEST, WORK_MARK, added_files, edited_files, made_by, read_manifest
from common.progress import duration, say
from hunmin.page.page import PAGE, is_page
from hunmin.recipe import is_resolved_recipe
from hunmin.stages import Stage, checkpoints_in, stage_times
from hunmin.state import BEGUN, KEY_DIFFERS, RunFolder, Verdict

LONG_SECONDS = 60.0
"""Work that took longer is replaced only when the user asks for it."""
BRANCH = "pretrain.branch_from"
MOST_SHOWN = 12
"""Changes that a message lists."""


def refuse_foreign(folder: RunFolder, stages: Sequence[Stage]) -> None:
    """Refuse a run folder in which something else than this program's own has a name that the run writes.

    Raises:
        UserError: it has; nothing has been written.
    """
    rule = "a run replaces only what it has made itself"
    for stage in stages:
        path = folder.final(stage)
        if not os.path.lexists(path) or (path.is_dir() and (made_by(path, stage.name) or _is_free(path))):
            continue
        if (path / MANIFEST).is_file():
            read_manifest(path)  # says where it is damaged
        raise UserError(
            f"{path} was not made by a run: the stage '{stage.name}' writes there",
            rule,
            "give another run folder (out=…), or move it away",
        )
    for name, is_own in (("recipe.yaml", is_resolved_recipe), (PAGE, is_page)):
        path = folder.path / name
        if os.path.lexists(path) and not is_own(path):
            raise UserError(
                f"{path} is your own file: the run writes {name} there", rule, "move it out of the run folder"
            )


def _is_free(path: Path) -> bool:
    """Return whether a folder can be given to a finished stage: an empty one that is not elsewhere."""
    return not any(path.iterdir()) and not path.is_symlink() and not path.is_mount()


def given_up(verdicts: Sequence[Verdict], restart: str | None, stages: Sequence[Stage]) -> set[str]:
    """Return the stages whose work the user has asked to have replaced.

    Args:
        restart: the first stage that is to be done again (`--from`, `--restart`); a branch asks for its training.
        stages: all of the recipe.
    """
    begins = [restart] if restart else []
    for verdict in verdicts:
        if any(change.startswith(f"{BRANCH}: ") and not change.endswith(" null") for change in verdict.changes):
            begins.append(verdict.stage.name)
    names = [stage.name for stage in stages]
    return {name for begin in begins for name in names[names.index(begin) :]}


def refuse_loss(folder: RunFolder, verdicts: Sequence[Verdict], given: Collection[str], share: bool = False) -> None:
    """Refuse to replace stages that hold more than a minute of work, unless it was asked for.

    Args:
        verdicts: of the stages that the run does, in order.
        given: see `given_up`; a new attempt that has begun was asked for when it did.
        share: this is one of several processes that do the stage together.

    Raises:
        UserError: a stage would be replaced; with what changed, and the ways on.
    """
    for verdict in verdicts:
        changes = dict.fromkeys(verdict.roots + ((verdict.why,) if verdict.missing else ()))
        if verdict.done or verdict.resumes or not changes or verdict.stage.name in given:
            continue
        for held in _held(folder, verdict):
            if held == folder.final(verdict.stage) and verdict.grows and not share:
                continue
            seconds = work_seconds(folder, verdict.stage, held)
            own = verdict.begun if held == folder.partial(verdict.stage) else ()
            # another key is a mistake more often than a wish: pseudonyms of two keys do not go together
            if seconds is None or seconds > LONG_SECONDS or KEY_DIFFERS in (own or changes):
                raise _loss(verdict.stage, held, seconds, own or tuple(changes), share)


def _held(folder: RunFolder, verdict: Verdict) -> list[Path]:
    """Return the folders whose work would be replaced; one without a mark is moved aside."""
    partial, final = folder.partial(verdict.stage), folder.final(verdict.stage)
    unfinished = partial.exists() and folder.work_mark(verdict.stage) is not None
    return [*([final] if final.exists() else []), *([partial] if unfinished else [])]


def work_seconds(folder: RunFolder, stage: Stage, held: Path) -> float | None:
    """Return how long a stage has been worked on in a folder, None if unknown.

    That is the span of the times of its beginning and of all that was written, in any order: where the clock was set
    back meanwhile, what was written last has an earlier time than the beginning. Files taken over from the finished
    output have its times, and do not count.
    """
    mark = held / WORK_MARK
    if mark.is_file():
        final = folder.final(stage)
        times = [_begun(mark)]
        for path in held.rglob("*"):
            written = path.lstat().st_mtime_ns
            if held == final or _written(final / path.relative_to(held)) != written:
                times.append(written / 1e9)
        return max(times) - min(times)
    found = stage_times(folder.path).get(stage.name)
    return max(found.values()) if found else None


def _written(path: Path) -> int | None:
    """Return when a file was written last, in nanoseconds; None where there is none."""
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return None


def _begun(mark: Path) -> float:
    """Return when a mark says that the work began; where it does not, as of earlier versions, when it was written."""
    try:
        return float(json.loads(mark.read_bytes())[BEGUN])
    except (ValueError, KeyError, TypeError):
        return mark.stat().st_mtime


def _loss(stage: Stage, held: Path, seconds: float | None, changes: Sequence[str], share: bool = False) -> UserError:
    extent = stage.extent(held)
    work = " and ".join(filter(None, [extent, duration(seconds) + " of work" if seconds is not None else ""]))
    ways = ["restore what changed: the same command then continues"]
    if KEY_DIFFERS in changes:
        ways = ["set HUNMIN_PII_KEY to the run's own key: the same command then continues"]
    if (checkpoints := checkpoints_in(held)) and _may_branch(changes):
        ways.append(f"train on from a checkpoint: {BRANCH}={checkpoints[max(checkpoints)]}")
    shown = [*changes[:MOST_SHOWN], *([f"{len(changes) - MOST_SHOWN} more"] if len(changes) > MOST_SHOWN else [])]
    kept = "moved aside" if stage.keep else "replaced"
    if share:
        ways.append(f"do the stage again: move {held} away, and submit the same command again")
    else:
        ways.append(f"do the stage again: hunmin run … --restart {stage.name} (what is there is {kept})")
    return UserError(
        f"this run would replace {held}" + (f", which holds {work}" if work else "") + "; changed since:\n"
        + "\n".join(f"  - {change}" for change in shown),
        "work of another key, and more than a minute of any work, is replaced only when asked for"
        if KEY_DIFFERS in changes else "more than a minute of work is replaced only when asked for",
        "\n        ".join(ways),
    )  # fmt: skip


def _may_branch(changes: Sequence[str]) -> bool:
    """Return whether a branch may differ from its parent in all that has changed."""
    from pretrain.callbacks.branch import may_differ

    keys = [change.partition(":")[0] for change in changes]
    return all(key.startswith("pretrain.") and may_differ(key.removeprefix("pretrain.")) for key in keys)


def set_aside(stage: Stage, held: Path, final: Path, why: str) -> None:
    """Move work that no longer fits the recipe to the name `final`.before-N, and say why: it is never deleted."""
    extent = stage.extent(held)
    number = 1
    while os.path.lexists(target := final.with_name(f"{final.name}.before-{number}")):
        number += 1
    held.rename(target)
    which = f"the earlier {stage.name}" + (f" ({extent})" if extent else "")
    say(f"{why}; {which} is now {target.name}: delete it when you no longer need it", style="yellow")


def clear_way(stage: Stage, final: Path, changes: Sequence[str]) -> bool:
    """Make the name of a finished stage free for its new output, and return whether the old one is to be replaced.

    What a stage keeps, and a folder in which somebody has put or edited a file, is moved aside.

    Args:
        changes: what differs between the old output and the new one.
    """
    if not final.exists() or not any(final.iterdir()):
        return False
    manifest = read_manifest(final)
    assert manifest is not None  # `refuse_foreign` has seen to it
    added, edited = added_files(final, manifest), edited_files(final, manifest)
    if stage.keep or added or edited:
        reason = f"; {final.name} holds {added[0]}, which is not the stage's" if added else ""
        reason = reason or (f"; {final.name}/{edited[0]} has been edited" if edited else "")
        differs = f" ({'; '.join(changes[:2])})" if changes else ""
        set_aside(stage, final, final, f"{stage.name}: the new one is finished{differs}{reason}")
        return False
    return True


def remove_replaced(folder: RunFolder, stages: Sequence[Stage]) -> None:
    """Remove what a killed command has left between a new output's name and the end of the old one."""
    for stage in stages:
        final = folder.final(stage)
        if not stage.keep and made_by(final, stage.name):
            for old in final.parent.glob(f".{final.name}.old*"):
                if re.fullmatch(r"old(-\d+)?", old.name.rpartition(".")[2]):  # as `publish_folder` names it
                    remove_folder(old)
