"""`hunmin verify`: whether the files of a run hold the bytes that its stages wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from common.errors import HunminError, UserError
from common.files import human_size, sha256_file
from common.manifest import MANIFEST, Manifest, damaged_outputs, read_manifest
from common.progress import ProgressBar, console
from common.stage_folders import folder_of, folders_of
from hunmin.embed.stages import ALONE
from hunmin.instruct.stages import INSTRUCT_STAGES
from hunmin.stages import STAGES, checkpoints_in, manifest_hashes


def verify_run(run: Path) -> list[dict[str, Any]]:
    """Read every finished output and every checkpoint of a run, and return a row each: {"what", "files", "bytes",
    "damaged": [names]}. A folder without a manifest is damaged, and so is a manifest that is not as the run wrote it.

    Raises:
        UserError: nothing there is of a run.
    """
    finished, unreadable = _finished(run)
    trained = [folder for name in ("pretrain", "tune", "embed") for folder in reversed(folders_of(run, name))]
    checkpoints = [path for folder in trained for path in _checkpoints(folder)]
    if not finished and not unreadable and not checkpoints:
        raise UserError(
            f"{run} holds no finished stage and no checkpoint", "a run folder is the `out` of a recipe", "name one"
        )
    sizes = [sum(facts["bytes"] for facts in manifest.outputs.values()) for _, manifest in finished]
    weights = [sum(file.stat().st_size for file in path.iterdir()) for path in checkpoints]
    rows = [_row(name, 1, 0, [MANIFEST]) for name in unreadable]
    rows += [_row(name, 1, 0, [f"{MANIFEST}: not as the run wrote it"]) for name in _edited(run, finished)]
    with ProgressBar("verify", (sum(sizes) + sum(weights)) / 1e6, "MB") as bar:
        for (name, manifest), size in zip(finished, sizes, strict=True):
            rows.append(_row(name, len(manifest.outputs), size, damaged_outputs(folder_of(run, name), manifest)))
            bar.advance(size / 1e6)
        for path, size in zip(checkpoints, weights, strict=True):
            files = len(list(path.iterdir()))
            rows.append(_row(str(path.relative_to(run)), files, size, _damage(path)))
            bar.advance(size / 1e6)
    return rows


def _finished(run: Path) -> tuple[list[tuple[str, Manifest]], list[str]]:
    """Return (folder, manifest) of the finished stages, and the folders whose manifest is gone or cannot be read."""
    finished, unreadable = [], []
    for stage in (*STAGES, *INSTRUCT_STAGES, ALONE):
        folder = folder_of(run, stage.folder)
        try:
            if manifest := read_manifest(folder):
                finished.append((stage.folder, manifest))
            elif folder.is_dir() and any(folder.iterdir()):
                unreadable.append(stage.folder)
        except HunminError:
            unreadable.append(stage.folder)
    return finished, unreadable


def _edited(run: Path, finished: list[tuple[str, Manifest]]) -> list[str]:
    """Return the folders whose manifest is none that the run wrote, as its log of times says."""
    written = manifest_hashes(run)
    return [
        folder
        for folder, manifest in finished
        if manifest.stage in written and sha256_file(folder_of(run, folder) / MANIFEST) not in written[manifest.stage]
    ]


def _checkpoints(folder: Path) -> list[Path]:
    found = {steps: path for steps, path in checkpoints_in(folder).items() if path.is_dir()}
    return [found[steps] for steps in sorted(found)]


def _damage(checkpoint: Path) -> list[str]:
    from pretrain.callbacks import tuning_checkpoints
    from pretrain.callbacks.checkpoint import METADATA, damaged_files, read_metadata

    if checkpoint.name.startswith(tuning_checkpoints.PREFIX):
        return tuning_checkpoints.damaged_files(checkpoint)
    saved = read_metadata(checkpoint)
    return [METADATA] if saved is None else damaged_files(checkpoint, saved)


def _row(what: str, files: int, size: int, damaged: list[str]) -> dict[str, Any]:
    return {"what": what, "files": files, "bytes": size, "damaged": damaged}


def print_verified(rows: list[dict[str, Any]]) -> None:
    """Print what `verify_run` found as a table on stdout."""
    table = Table()
    for name in ("", "files", "size", "damaged or missing"):
        table.add_column(name, justify="left" if name in ("", "damaged or missing") else "right")
    for row in rows:
        damaged = ", ".join(row["damaged"][:4]) + (" …" if len(row["damaged"]) > 4 else "")
        names = Text(damaged or "none", style="red" if damaged else "green")
        table.add_row(Text(row["what"]), f"{row['files']:,}", human_size(row["bytes"]), names)
    console(stderr=False).print(table)
