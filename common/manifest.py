"""Manifests: what a finished stage read, its settings, what it wrote. No clock, no host: same work, same bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import xxhash
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from common.errors import HunminError
from common.files import MADE_BY, hash_file, read_bytes, write_text, xxh3_file
from common.lock import LOCK
from common.secrets import masked_urls
from common.settings import settings_hash

MANIFEST = "manifest.json"
WORK_MARK = ".work.json"
"""File in the folder of unfinished work: its facts, by which a later command recognises it."""


class Manifest(BaseModel):
    """The contents of a stage folder's `manifest.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    stage: str
    """Name of the stage that wrote the folder."""
    settings: dict[str, Any]
    """Every setting that the output depends on."""
    inputs: dict[str, str]
    """Name of each input → its hash (a file's, or an upstream manifest's)."""
    outputs: dict[str, dict[str, Any]]
    """Path inside the folder → {"bytes", "sha256", "xxh3"}."""
    counts: dict[str, Any] = {}
    """What the stage counted (documents, tokens, rejects …)."""
    versions: dict[str, str] = {}
    """Versions of the packages that the bytes depend on."""
    rules: int = 0
    """Number of the stage's rules (`common.rules`); 0 of what has none."""
    lineage: dict[str, str] = {}
    """Stage → name of its folder that was read (`common.stage_folders.MADE`)."""

    @field_validator("outputs")
    @classmethod
    def _are_described(cls, outputs: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        if any(
            not isinstance(facts.get("bytes"), int) or not {"sha256", "xxh3"} <= set(facts)
            for facts in outputs.values()
        ):
            raise ValueError("an output lacks its size or a hash")
        return outputs

    @property
    def fingerprint(self) -> str:
        """Return 16 hex digits that identify the bytes of the stage's output; downstream stages record it."""
        return settings_hash({path: facts["sha256"] for path, facts in self.outputs.items()})


def package_versions(*names: str) -> dict[str, str]:
    """Return name → installed version for the packages named (missing ones left out)."""
    versions = {}
    for name in names:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def described_files(folder: str | Path) -> Iterator[tuple[str, Path]]:
    """Yield (path inside the folder, path) of every file that a manifest describes, sorted.

    Left out: the manifest, names that start with "." (marks), and folders named `logs` (they hold times and rates) or
    `checkpoints` (they come and go).
    """
    folder = Path(folder)
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") or part in ("logs", "checkpoints") for part in relative.parts)
        if path.is_file() and relative.name != MANIFEST and not hidden:
            yield relative.as_posix(), path


def describe_outputs(folder: str | Path) -> dict[str, dict[str, Any]]:
    """Return {"path": {"bytes", "sha256", "xxh3"}} of every file under `folder` that is output (`described_files`).

    SHA-256 identifies the bytes to everyone; xxh3 (128 bits) is what a stage checks before it reads them, at the speed
    of the disk.
    """
    return {name: _describe(path) for name, path in described_files(folder)}


def _describe(path: Path) -> dict[str, Any]:
    sha256, xxh3 = hash_file(path, hashlib.sha256(), xxhash.xxh3_128())
    return {"bytes": path.stat().st_size, "sha256": sha256, "xxh3": xxh3}


def write_manifest(folder: str | Path, manifest: Manifest) -> None:
    """Write `manifest.json` into `folder` atomically, with sorted keys."""
    write_text(Path(folder) / MANIFEST, manifest_text(manifest))


def manifest_text(manifest: Manifest) -> str:
    """Return a manifest's text, as `write_manifest` writes it."""
    return (
        masked_urls(json.dumps(manifest.model_dump(mode="json"), ensure_ascii=False, indent=1, sort_keys=True)) + "\n"
    )


def read_manifest(folder: str | Path) -> Manifest | None:
    """Return the folder's manifest, or None when there is none.

    Raises:
        HunminError: the manifest is there but damaged.
    """
    path = Path(folder) / MANIFEST
    if not path.exists():
        return None
    try:
        return Manifest.model_validate_json(read_bytes(path))
    except (OSError, ValidationError):
        raise HunminError(
            f"{path} is damaged or was not written by hunmin",
            "a finished folder holds a readable manifest",
            f"restore {MANIFEST} from a copy, or move {folder} away and run again",
        ) from None


def made_by(folder: str | Path, stage: str) -> bool:
    """Return whether a folder bears the manifest of a stage: nothing else that stands there may be replaced.

    Args:
        folder: any path.
        stage: name of the stage.
    """
    try:
        manifest = read_manifest(folder)
    except (HunminError, OSError):
        return False
    return manifest is not None and manifest.stage == stage


def added_files(folder: str | Path, manifest: Manifest) -> list[str]:
    """Return the files in a finished folder, hidden ones too, that its manifest does not name: somebody else's."""
    own = {*manifest.outputs, MANIFEST, WORK_MARK}
    marks = (LOCK, MADE_BY)
    logged = {"metrics", *(part.partition(".")[0] for name in manifest.outputs for part in name.split("/"))}
    names = (path.relative_to(folder) for path in sorted(Path(folder).rglob("*")) if path.is_file())
    others = (name for name in names if name.as_posix() not in own and name.name not in marks)
    return [name.as_posix() for name in others if not _is_log(name, logged)]


def _is_log(name: Path, logged: set[str]) -> bool:
    """Return whether a file is the log of something that a folder holds: logs/ynat-random-42.log beside
    jobs/ynat-random-42/result.json."""
    return name.parent.name == "logs" and name.suffix in (".log", ".jsonl") and name.stem in logged


def missing_outputs(folder: str | Path, manifest: Manifest) -> list[str]:
    """Return the recorded outputs that are gone or have another size; their bytes are not read."""
    folder = Path(folder)
    bad = []
    for name, facts in manifest.outputs.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != facts["bytes"]:
            bad.append(name)
    return bad


def damaged_outputs(folder: str | Path, manifest: Manifest, unread: Sequence[str] = ()) -> list[str]:
    """Return the recorded outputs that are gone or whose bytes are not those recorded; all of them are read.

    Args:
        folder: the finished folder.
        manifest: its manifest.
        unread: patterns of names that are passed over.
    """
    folder = Path(folder)
    missing = missing_outputs(folder, manifest)
    return [
        name
        for name, facts in manifest.outputs.items()
        if not any(fnmatch(name, pattern) for pattern in unread)
        and (name in missing or not _is_whole(folder / name, facts))
    ]


def refuse_damaged(folder: str | Path, fix: str, unread: Sequence[str] = ()) -> None:
    """Refuse a finished folder whose outputs are gone or changed; one without a manifest is not looked at.

    Args:
        folder: any folder.
        fix: what to do, beside restoring the file from a copy.
        unread: patterns of names that are not going to be read.

    Raises:
        HunminError: an output's bytes are not those recorded.
    """
    manifest = read_manifest(folder)
    damaged = damaged_outputs(folder, manifest, unread) if manifest else []
    if damaged:
        more = f", and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        raise HunminError(
            f"{Path(folder) / damaged[0]} is damaged or was changed{more}: its bytes are not those that were written",
            f"a finished folder is read only as its {MANIFEST} describes it",
            f"restore the file from a copy, or {fix}",
        )


def _is_whole(path: Path, facts: dict[str, Any]) -> bool:
    try:
        return xxh3_file(path) == facts["xxh3"]
    except OSError:  # a bad sector, say
        return False
