"""The current folder of each stage of a run: recorded in `current.json`, shown to people by links."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from common.errors import UserError
from common.files import atomic_write, sha256_file
from common.manifest import MANIFEST, WORK_MARK, made_by
from common.progress import say
from common.stage_folders import (
    CURRENT,
    CURRENT_FOLDERS,
    MADE,
    MANIFEST_HASHES,
    UNFINISHED,
    links_of,
    read_current,
)


def begin_work(run: Path, stage: str, folder: Path) -> None:
    """Note the folder of `MADE` in which a stage works from now on, and link STAGE.partial to it."""
    tree = read_current(run)
    tree[UNFINISHED][stage] = folder.name
    write_current(run, tree)
    _link(links_of(run, stage)[1], folder)


def make_current(run: Path, stage: str, folder: Path) -> None:
    """Make a finished folder of `MADE` the current one of a stage, which is no longer at work, and link its name to
    it."""
    tree = read_current(run)
    tree[CURRENT_FOLDERS][stage] = folder.name
    tree[UNFINISHED].pop(stage, None)
    if folder.name not in tree[MANIFEST_HASHES]:  # else one that was edited since would pass for the stage's
        tree[MANIFEST_HASHES][folder.name] = sha256_file(folder / MANIFEST)
    write_current(run, tree)
    (folder / WORK_MARK).unlink(missing_ok=True)  # of a command that was killed as it ended
    whole, at_work = links_of(run, stage)
    _link(whole, folder)
    if at_work.is_symlink():
        at_work.unlink()


def write_current(run: Path, tree: dict[str, dict[str, str]]) -> None:
    """Write a run's `CURRENT`; see `read_current`."""
    if tree != read_current(run):
        with atomic_write(run / CURRENT) as stream:
            json.dump(tree, stream, indent=1, sort_keys=True)
            stream.write("\n")


def _link(link: Path, folder: Path) -> None:
    target = Path(MADE) / folder.name
    if link.is_symlink() and link.readlink() == target:
        return
    fresh = link.with_name(f".{link.name}.tmp")
    try:
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(target)
        with suppress(OSError):  # an empty folder may have the name
            link.rmdir()
        fresh.replace(link)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        _say_without_links(link.parent, str(error.strerror))


@cache
def _say_without_links(run: Path, why: str) -> None:
    say(f"no links to the stages' folders in {run} ({why}): {run / CURRENT} names them", style="yellow")


def refuse_taken_name(link: Path, stage: str) -> None:
    """Raise a UserError where something of the user's has the name of a link; a copy of a run in which links became
    folders may hold one of ours there.

    Args:
        link: one of `links_of`.
        stage: in the manifest of what it links to.
    """
    ours = link.is_symlink() and link.readlink().parent == Path(MADE)
    empty = link.is_dir() and not link.is_symlink() and not link.is_mount() and not any(link.iterdir())
    copied = made_by(link, stage) or (link / WORK_MARK).is_file()
    if os.path.lexists(link) and not (ours or empty or copied):
        raise UserError(
            f"{link} was not made by a run: the link to what '{stage}' makes has that name",
            "a run replaces only what it has made itself",
            "give another run folder (out=…), or move it away",
        )
