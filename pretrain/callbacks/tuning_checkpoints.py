"""Checkpoints of tunings, which transformers' Trainer writes in place: finished by a manifest, checked before they are
resumed from. Apart from the Trainer, whose import prints to stdout."""

from __future__ import annotations

import shutil
from pathlib import Path

from common.errors import HunminError, UserError
from common.manifest import MANIFEST, Manifest, damaged_outputs, describe_outputs, read_manifest, write_manifest
from common.progress import say

PREFIX = "checkpoint-"
"""Of the names that the Trainer gives its checkpoints: checkpoint-STEP."""


def finish_checkpoint(path: Path) -> None:
    """Write the manifest of a checkpoint, whose files are all there: until then it is unfinished."""
    write_manifest(path, Manifest(stage="checkpoint", settings={}, inputs={}, outputs=describe_outputs(path)))


def newest_checkpoint(folder: Path) -> tuple[int, Path | None]:
    """Return steps and folder of the newest checkpoint whose bytes are those that were written, (0, None) where none
    was finished; unfinished ones are removed, damaged ones stay, and a warning names them.

    Raises:
        UserError: all of them are damaged.
    """
    finished = finished_checkpoints(folder)
    for step, path in reversed(finished):
        damaged = damaged_files(path)
        if not damaged:
            return step, path
        say(f"{path} is passed over: {damaged[0]} is damaged or was changed", style="yellow")
    if finished:
        raise UserError(
            f"none of the checkpoints in {folder} is whole",
            "a run that has been trained does not begin anew unasked",
            f"restore one of them from a copy; to begin anew, move {folder} away",
        )
    return 0, None


def damaged_files(path: Path) -> list[str]:
    """Return the files of a finished checkpoint that are gone or hold other bytes than were written; all are read."""
    try:
        manifest = read_manifest(path)
    except HunminError:
        return [MANIFEST]
    return damaged_outputs(path, manifest) if manifest else [MANIFEST]


def finished_checkpoints(folder: Path) -> list[tuple[int, Path]]:
    """Return steps and folder of every checkpoint that was finished, ascending; unfinished ones are removed."""
    numbered = {path: path.name.removeprefix(PREFIX) for path in folder.glob(f"{PREFIX}*")}
    finished = []
    for path, number in numbered.items():
        if number.isdigit() and (path / MANIFEST).exists():
            finished.append((int(number), path))
        elif number.isdigit():
            shutil.rmtree(path, ignore_errors=True)
    return sorted(finished)
