"""Damaged checkpoints: passed over for the one before, and kept apart, where none is counted, replaced or removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from common.errors import UserError
from common.files import free_name
from common.progress import say

DAMAGED = "damaged"
"""Folder, beside the checkpoints, of those that a run could not resume from."""


def newest_sound(checkpoints: Sequence[Path], damaged_files: Callable[[Path], list[str]]) -> Path | None:
    """Return the last checkpoint whose bytes are those that were written, None where there is none at all.

    Later ones are moved into the folder `DAMAGED`: the run that resumes writes checkpoints of their steps, and counts
    those that it keeps.

    Raises:
        UserError: all of them are damaged; they stay where they are.
    """
    damaged: list[tuple[Path, str]] = []
    for path in reversed(checkpoints):
        files = damaged_files(path)
        if not files:
            for damaged_path, file in damaged:
                _quarantine(damaged_path, file)
            return path
        damaged.append((path, files[0]))
    if damaged:
        raise UserError(
            f"none of the checkpoints in {damaged[0][0].parent} is whole: "
            + ", ".join(f"{path.name}/{file} is damaged or was changed" for path, file in damaged),
            "a run that has been trained does not begin anew unasked",
            f"restore one of them from a copy; to begin anew, move {damaged[0][0].parent} away",
        )
    return None


def _quarantine(path: Path, file: str) -> None:
    folder = path.parent / DAMAGED
    folder.mkdir(exist_ok=True)
    target = free_name(folder / path.name)
    path.rename(target)
    say(
        f"warning: checkpoint {path.name} is passed over: {file} is damaged or was changed; it is kept as {target}",
        style="yellow",
    )
