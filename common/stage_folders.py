"""Where the stages of a run keep what they have made, and what they are making: no other file joins their names."""

from __future__ import annotations

import json
from pathlib import Path

from common.errors import DamagedError
from common.files import read_bytes

MADE = "made"
"""Folder of what is done `once`, below a run's: each work has a folder of its own there."""
CURRENT = "current.json"
"""In a run's folder: what counts. Links with the stages' names are for people."""
COUNTS = "current"
AT_WORK = "at work"
MANIFESTS = "manifests"
"""Its keys: stage → folder of what it has made; stage → folder in which it works; whole folder → SHA-256 of its
manifest."""
KEYS = (COUNTS, AT_WORK, MANIFESTS)


def folder_of(run: Path, stage: str) -> Path:
    """Return the folder of what a stage (corpus, tokenizer, tokens …) has made, which need not be there."""
    return _made(run, COUNTS, stage) or links_of(run, stage)[0]


def work_folder_of(run: Path, stage: str) -> Path:
    """Return the folder in which a stage works until it is finished."""
    return _made(run, AT_WORK, stage) or links_of(run, stage)[1]


def _made(run: Path, key: str, stage: str) -> Path | None:
    name = read_current(run)[key].get(stage)
    return run / MADE / Path(name).name if name else None


def read_current(run: Path) -> dict[str, dict[str, str]]:
    """Return what `CURRENT` holds; nothing under each key where it is not there. Raises DamagedError where it was
    changed: nothing would seem to count, and `hunmin clean` would remove it."""
    try:
        tree = json.loads(read_bytes(run / CURRENT))
        return {key: {str(name): str(value) for name, value in tree[key].items()} for key in KEYS}
    except (FileNotFoundError, NotADirectoryError):
        return {key: {} for key in KEYS}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DamagedError(
            f"{run / CURRENT} is damaged or was changed", "it names the folders that count in a run",
            "restore it from a copy, or move it away and run the recipe again: what is finished is found again",
        ) from None  # fmt: skip


def links_of(run: Path, stage: str) -> tuple[Path, Path]:
    """Return the names by which people find the folder of what a stage has made, and that in which it works."""
    return run / stage, run / f"{stage}.partial"


def run_and_stage(folder: Path) -> tuple[Path, str]:
    """Return the run that a stage's folder stands in, and the name of the stage's folder; of another folder that above
    it, and its name."""
    whole = folder.resolve()
    if whole.parent.name == MADE:
        return whole.parent.parent, whole.name.partition("-")[0]
    return whole.parent, whole.name


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
