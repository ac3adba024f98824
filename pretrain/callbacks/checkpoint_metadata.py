"""Checkpoints as folders: which there are, whole or damaged, and what their metadata says.

No torch is needed for that, so that commands which only look begin at once.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from common.errors import HunminError, UserError
from common.files import atomic_write, free_name, fsync_folder, read_bytes, xxh3_file
from common.manifest import read_manifest
from common.progress import say
from common.secrets import masked_urls
from common.settings import changed_keys, settings_hash
from pretrain.settings import PretrainSettings

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


METADATA, DIGEST = "complete.json", "digest"
"""File that ends a checkpoint; key in it: hash of all else that it says."""
WEIGHTS, OPTIMIZER = "weights.safetensors", "optimizer.safetensors"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json")


def step_folder(folder: Path, step: int) -> Path:
    """Return the folder of the checkpoint after `step` optimizer steps."""
    return folder / f"step-{step:08d}"


def checkpoints_by_size(folder: Path) -> list[tuple[int, Path]]:
    """Return (step, folder) of every checkpoint whose files have their sizes, ascending; others are passed over with a
    warning. No bytes are read: see `newest_sound`."""
    checkpoints = []
    for path in _numbered(folder):
        saved = _metadata(path)
        if missing := _missing_files(path, saved):
            say(f"warning: checkpoint {path.name} is passed over: {missing[0]} is damaged or missing", style="yellow")
            continue
        checkpoints.append((int(saved["step"]), path))
    return checkpoints


def last_checkpoint(folder: Path) -> tuple[int, Path]:
    """Return (step, folder) of the last checkpoint of training that is finished.

    Raises:
        HunminError: it is not whole: the one before is not what training left.
    """
    numbered = _numbered(folder)
    missing = _missing_files(numbered[-1], _metadata(numbered[-1])) if numbered else ["step-*"]
    if missing:
        raise HunminError(
            f"{numbered[-1] if numbered else folder}/{missing[0]} is damaged or missing",
            "finished training is exported from its last checkpoint",
            "restore the file from a copy",
        )
    return int(_metadata(numbered[-1])["step"]), numbered[-1]


def _numbered(folder: Path) -> list[Path]:
    steps = {path: path.name.removeprefix("step-") for path in folder.glob("step-*")}
    return sorted((path for path in steps if steps[path].isdigit()), key=lambda path: int(steps[path]))


def _metadata(path: Path) -> dict[str, Any]:
    """Return the metadata of a checkpoint, {} where they are missing, damaged or edited."""
    try:
        saved = dict(json.loads(read_bytes(path / METADATA)))
    except (OSError, ValueError, TypeError):
        return {}
    return saved if saved.pop(DIGEST, None) == settings_hash(saved) else {}


def _missing_files(path: Path, saved: dict[str, Any]) -> list[str]:
    """Return the files that are gone or have another size, the metadata where they say nothing; no bytes are read."""
    if not saved:
        return [METADATA]
    return [
        name
        for name, (size, _) in saved["files"].items()
        if not (path / name).is_file() or (path / name).stat().st_size != size
    ]


def read_metadata(path: Path) -> dict[str, Any] | None:
    """Return the metadata of a checkpoint, or None if there are none, or a file is missing or has another size."""
    saved = _metadata(path)
    return None if _missing_files(path, saved) else saved


def write_metadata(path: Path, metadata: dict[str, Any]) -> None:
    """Write the metadata of a checkpoint, which ends it, with a hash of themselves."""
    text = json.dumps({name: value for name, value in metadata.items() if name != DIGEST})
    metadata = json.loads(masked_urls(text))  # as it is read again
    with atomic_write(path / METADATA) as stream:
        json.dump({**metadata, DIGEST: settings_hash(metadata)}, stream, indent=1, sort_keys=True)


def damaged_files(path: Path, saved: dict[str, Any] | None = None) -> list[str]:
    """Return the files of a checkpoint that do not hold what its metadata, one of them, says: all are read."""
    saved = _metadata(path) if saved is None else saved
    if not saved:
        return [METADATA]
    return [name for name, (_, content) in saved["files"].items() if not _holds(path / name, content)]


def _holds(path: Path, content: str) -> bool:
    try:
        return xxh3_file(path) == content
    except OSError:  # a bad sector, say
        return False


def fingerprint(tree: dict[str, Any], tokens: Path) -> str:
    """Return a fingerprint of a run: every setting that affects it (`dump_settings`), and its tokens."""
    return settings_hash({"settings": tree, "tokens": tokens_fingerprint(tokens)})


def tokens_fingerprint(tokens: Path) -> str:
    """Return a fingerprint of the content of a token folder."""
    manifest = read_manifest(tokens)
    return manifest.fingerprint if manifest else settings_hash(json.loads(read_bytes(tokens / "tokens.json")))


def newest_checkpoint(folder: Path) -> tuple[Path | None, dict[str, Any]]:
    """Return the checkpoint to resume from (`newest_sound`) and its metadata, (None, {}) where there is none."""
    path = newest_sound(_numbered(folder), damaged_files)
    return (path, _metadata(path)) if path else (None, {})


def check_metadata(path: Path, saved: dict[str, Any], metadata: dict[str, Any]) -> None:
    """Refuse a checkpoint that is not of the run whose `metadata` (`fingerprint`, `settings`, `dtype` …) are given.

    Raises:
        UserError: it was made by other settings or another corpus, or in another numeric type.
    """
    same = saved.get("fingerprint") == metadata["fingerprint"]
    changed = changed_keys(saved.get("settings", {}), metadata["settings"], model=PretrainSettings)
    data = saved.get("tokens_fingerprint")
    if not same and (changed or data is None or data != metadata.get("tokens_fingerprint")):
        raise UserError(
            f"{path.name} was made with other settings or another corpus: {', '.join(changed) or 'the corpus'}",
            "a run resumes with what it began with; else batches would repeat or be left out",
            f"restore the recipe and the corpus; or begin a new run from it: pretrain.branch_from={path} (learning "
            "rate, schedule, steps and batch may differ), or anew in another `out` folder",
        )
    if saved.get("dtype") != metadata["dtype"]:
        raise UserError(
            f"{path.name} was computed in {saved.get('dtype')}, and on this device the run would continue in "
            f"{metadata['dtype']}",
            "a run is computed in one numeric type from its first step to its last (pretrain.dtype=auto takes bf16 "
            "where the device has it)",
            f"continue where it began; or begin a new run from it: pretrain.branch_from={path}",
        )


def remove_unfinished(folder: Path) -> None:
    """Remove temporary folders that a killed run left behind; nobody may be writing there."""
    for ending in ("tmp", "old*"):
        for path in folder.glob(f".step-*.{ending}"):
            shutil.rmtree(path, ignore_errors=True)
    if folder.is_dir():
        fsync_folder(folder)
