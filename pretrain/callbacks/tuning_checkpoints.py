"""Checkpoints of tunings, which transformers' Trainer writes in place: finished by a manifest, checked before they are
resumed from. Apart from the Trainer, whose import prints to stdout."""

from __future__ import annotations

import shutil
from pathlib import Path

from common.errors import HunminError
from common.manifest import MANIFEST, Manifest, damaged_outputs, describe_outputs, read_manifest, write_manifest
from common.settings import settings_hash
from pretrain.callbacks.checkpoint_metadata import newest_sound

PREFIX = "checkpoint-"
"""Prefix of the names that the Trainer gives its checkpoints: checkpoint-STEP."""
STAGE, DIGEST = "checkpoint", "digest"
"""Name in a checkpoint's manifest, and the count that is a hash of all else in it."""


def finish_checkpoint(path: Path) -> None:
    """Write the manifest of a checkpoint, whose files are all there: until then it is unfinished."""
    manifest = Manifest(stage=STAGE, settings={}, inputs={}, outputs=describe_outputs(path))
    write_manifest(path, manifest.model_copy(update={"counts": {DIGEST: _digest(manifest)}}))


def newest_checkpoint(folder: Path) -> tuple[int, Path | None]:
    """Return steps and folder of the checkpoint to resume from (`newest_sound`), (0, None) where there is none."""
    finished = {path: step for step, path in finished_checkpoints(folder)}
    path = newest_sound([*finished], damaged_files)
    return (finished[path], path) if path else (0, None)


def damaged_files(path: Path) -> list[str]:
    """Return the files of a finished checkpoint that are gone or hold other bytes than were written; all are read."""
    try:
        manifest = read_manifest(path)
    except HunminError:
        return [MANIFEST]
    if manifest is None or manifest.counts != {DIGEST: _digest(manifest)}:
        return [MANIFEST]
    return damaged_outputs(path, manifest)


def _digest(manifest: Manifest) -> str:
    return settings_hash(manifest.model_dump(mode="json", exclude={"counts"}))


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
