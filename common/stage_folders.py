"""The folders of a run's stages, finished and unfinished: no other file joins their names."""

from __future__ import annotations

import json
from pathlib import Path

from common.errors import DamagedError
from common.files import read_bytes

MADE = "made"
"""Folder of what is done `once`, below a run's: each work has a folder of its own there."""
CURRENT = "current.json"
"""File in a run's folder that names the current folder of each stage; links with the stages' names are for people."""
CURRENT_FOLDERS = "current"
UNFINISHED = "at work"
MANIFEST_HASHES = "manifests"
"""Its keys: stage → current folder; stage → folder of unfinished work; finished folder → SHA-256 of its manifest."""
KEYS = (CURRENT_FOLDERS, UNFINISHED, MANIFEST_HASHES)


def folder_of(run: Path, stage: str) -> Path:
    """Return the current folder of a stage (corpus, tokenizer, tokens …), which need not be there."""
    return _made(run, CURRENT_FOLDERS, stage) or links_of(run, stage)[0]


def work_folder_of(run: Path, stage: str) -> Path:
    """Return the folder of a stage's unfinished work, which need not be there."""
    return _made(run, UNFINISHED, stage) or links_of(run, stage)[1]


def _made(run: Path, key: str, stage: str) -> Path | None:
    name = read_current(run)[key].get(stage)
    return run / MADE / Path(name).name if name else None


def read_current(run: Path) -> dict[str, dict[str, str]]:
    """Return what `CURRENT` holds, {} under each key without it. Raises DamagedError where it was changed: no folder
    would seem current, and `hunmin clean` would remove all."""
    try:
        tree = json.loads(read_bytes(run / CURRENT))
        return {key: {str(name): str(value) for name, value in tree[key].items()} for key in KEYS}
    except (FileNotFoundError, NotADirectoryError):
        return {key: {} for key in KEYS}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DamagedError(
            f"{run / CURRENT} is damaged or was changed",
            "it names the folders that count in a run",
            "restore it from a copy, or move it away and run the recipe again: what is finished is found again",
        ) from None


def links_of(run: Path, stage: str) -> tuple[Path, Path]:
    """Return the links by which people find a stage's current folder, and that of its unfinished work."""
    return run / stage, run / f"{stage}.partial"


def run_and_stage(folder: Path) -> tuple[Path, str]:
    """Return the run and the stage of a stage's folder; of any other folder its parent and its name."""
    whole = folder.resolve()
    if whole.parent.name == MADE:
        return whole.parent.parent, whole.name.partition("-")[0]
    return whole.parent, whole.name


def folders_of(run: Path, stage: str) -> tuple[Path, Path]:
    """Return the folder of a stage's unfinished work, and its current folder."""
    return work_folder_of(run, stage), folder_of(run, stage)


def latest_folder_of(run: Path, stage: str) -> Path:
    """Return the folder of a stage's unfinished work where there is one, else its current folder."""
    folder = work_folder_of(run, stage)
    return folder if folder.is_dir() else folder_of(run, stage)


def of_run_or_itself(path: Path, stage: str) -> Path:
    """Return the stage's folder where the path is a run's, else the path: people name either."""
    folder = folder_of(path, stage)
    return folder if folder.is_dir() else path
