"""Where the stages of a run keep what they have made, and what they are making: no other file joins their names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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
    name = current_names(run).get(stage)
    return run / MADE / Path(name).name if isinstance(name, str) else run / stage


def current_names(run: Path) -> dict[str, Any]:
    """Return work → name of the folder of `MADE` that counts for it."""
    try:
        loaded = json.loads((run / CURRENT).read_bytes())
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


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
