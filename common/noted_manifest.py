"""Manifests as a run noted them when they were written: one that was edited since then is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from common.errors import DamagedError, HunminError
from common.files import sha256_file
from common.manifest import MANIFEST, WORK_MARK, Manifest, read_manifest
from common.stage_folders import MADE, MANIFEST_HASHES, read_current


def noted_manifest(folder: Path, changed: bool = False) -> Manifest | None:
    """Return a folder's manifest, None where there is none.

    Args:
        folder: without links in its path.
        changed: it may be another than the one that the folder's run has noted in `CURRENT`.

    Raises:
        HunminError: it is damaged, or another one.
    """
    path = folder / MANIFEST
    ours = folder.parent.name == MADE and not changed
    digest = read_current(folder.parent.parent)[MANIFEST_HASHES].get(folder.name) if ours else None
    if digest and not (path.is_file() and sha256_file(path) == digest):
        raise DamagedError(
            f"{path} is damaged or was changed: its run wrote other bytes",
            "a finished folder holds the manifest that its run wrote",
            f"restore it from a copy, or move {folder} away and run again",
        )
    return read_manifest(folder)


def manifests_above(folder: Path, highest: int, changed: bool = False) -> Iterator[tuple[Path, Manifest]]:
    """Yield (folder, manifest) of a folder and of those above it that have one, up to one at work.

    Args:
        folder: where the first one may be.
        highest: how many folders above it are looked at.
        changed: see `noted_manifest`.

    Raises:
        HunminError: the folder's own manifest, or one of a run, is damaged or another one.
    """
    whole = folder.resolve()
    for home in (whole, *whole.parents[:highest]):
        if (home / WORK_MARK).exists() and not (home / MANIFEST).exists():
            return
        try:
            manifest = noted_manifest(home, changed)
        except HunminError:
            if home == whole or home.parent.name == MADE:
                raise
            continue  # another program's
        if manifest:
            yield home, manifest
