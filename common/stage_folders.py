"""Where the stages of a run keep what they have made, and what they are making: no other file joins their names."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import atomic_write
from common.manifest import made_by
from common.progress import say

MADE = "made"
"""Folder of what is done `once`, below a run's: each work has a folder of its own there."""
CURRENT = "current.json"
"""In a run's folder: which folder of `MADE` counts for each work. Links with the works' names are for people."""


def folder_of(run: Path, stage: str) -> Path:
    """Return the folder of what a stage has made, which need not be there.

    Args:
        run: a run's folder.
        stage: name of the stage's folder: corpus, tokenizer, tokens, pretrain …
    """
    name = _current(run).get(stage)
    return run / MADE / Path(name).name if isinstance(name, str) else run / stage


def _current(run: Path) -> dict[str, Any]:
    try:
        loaded = json.loads((run / CURRENT).read_bytes())
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def refuse_taken_name(run: Path, stage: str) -> None:
    """Raise a UserError where something of the user's has the name of a work's link; a copied run may hold a folder of
    ours there."""
    link = run / stage
    if os.path.lexists(link) and not link.is_symlink() and not made_by(link, stage):
        raise UserError(f"{link} holds something else", "a link to the result gets that name", "move it away")


def make_current(run: Path, stage: str, folder: Path) -> None:
    """Say that a folder of `MADE` counts for a work from now on, and link its name to it."""
    with atomic_write(run / CURRENT) as stream:
        json.dump({**_current(run), stage: folder.name}, stream, indent=1, sort_keys=True)
    link, fresh = run / stage, run / f".{stage}.tmp"
    try:
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(Path(MADE) / folder.name)
        fresh.replace(link)
    except OSError as error:
        say(f"no link {link}: {error.strerror}; the result is in {folder}", style="yellow")


def work_folder_of(run: Path, stage: str) -> Path:
    """Return the folder in which a stage works until it is finished; for the arguments see `folder_of`."""
    return run / f"{stage}.partial"


def folders_of(run: Path, stage: str) -> tuple[Path, Path]:
    """Return the folder in which a stage works, and that of what it has made."""
    return work_folder_of(run, stage), folder_of(run, stage)


def latest_folder_of(run: Path, stage: str) -> Path:
    """Return the folder in which a stage works where there is one, else that of what it has made."""
    folder = work_folder_of(run, stage)
    return folder if folder.is_dir() else folder_of(run, stage)


def of_run_or_itself(path: Path, stage: str) -> Path:
    """Return the stage's folder where the path is a run's, else the path: people name either."""
    folder = folder_of(path, stage)
    return folder if folder.is_dir() else path
