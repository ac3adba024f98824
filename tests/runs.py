"""Copies of finished runs, and of single stages of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from common.files import sha256_file
from common.manifest import MANIFEST, Manifest, describe_outputs, read_manifest, write_manifest


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


def rewrite(path: Path, content: str | bytes) -> None:
    """Write a file as its stage would have: its manifest, and the run's hash of that, are made anew."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    describe_again(path)


def describe_again(path: Path, current: bool = True) -> None:
    """Make the manifest that describes a file anew; `current`: and the run's hash of that."""
    home = next((parent for parent in path.resolve().parents if (parent / MANIFEST).exists()), None)
    if home and (manifest := read_manifest(home)):
        note_manifest(home, manifest.model_copy(update={"outputs": describe_outputs(home)}), current)


def note_manifest(folder: Path, manifest: Manifest, current: bool = True) -> None:
    """Write a folder's manifest; `current`: and its hash where the folder's run notes it."""
    write_manifest(folder, manifest)
    file = folder.parent.parent / "current.json"
    if current and file.is_file():
        tree = json.loads(file.read_bytes())
        tree["manifests"][folder.name] = sha256_file(folder / MANIFEST)
        file.write_text(json.dumps(tree))
