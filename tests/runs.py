"""Copies of finished runs, and of single stages of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path


def copy_run(run: Path, to: Path) -> Path:
    """Copy a run, links as links, and return the copy."""
    return Path(shutil.copytree(run, to, symlinks=True))


def copy_stages(run: Path, to: Path, *stages: str) -> None:
    """Give another run what these stages have made: where its settings are the same, it is found."""
    for stage in stages:
        made = (run / stage).resolve()
        shutil.copytree(made, to / "made" / made.name)


def forget(run: Path, *stages: str) -> None:
    """Leave a run as if these stages had never been done."""
    tree = json.loads((run / "current.json").read_bytes())
    for stage in stages:
        shutil.rmtree(run / "made" / tree["current"].pop(stage))
        (run / stage).unlink()
    (run / "current.json").write_text(json.dumps(tree))


def set_at_work(run: Path, stage: str, name: str) -> Path:
    """Return a new folder in which a stage of the run is at work."""
    tree = json.loads((run / "current.json").read_bytes())
    tree["at work"][stage] = name
    (run / "current.json").write_text(json.dumps(tree))
    (folder := run / "made" / name).mkdir()
    (run / f"{stage}.partial").symlink_to(Path("made") / name)
    return folder
