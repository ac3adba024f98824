"""Manifests: what a finished stage read, its settings, what it wrote. No clock, no host: same work, same bytes."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from common.errors import HunminError
from common.files import atomic_write, sha256_file
from common.settings import settings_hash

MANIFEST = "manifest.json"


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
    """Path inside the folder → {"bytes", "sha256"}."""
    counts: dict[str, Any] = {}
    """What the stage counted (documents, tokens, rejects …)."""
    versions: dict[str, str] = {}
    """Versions of the packages that the bytes depend on."""
    rules: dict[str, str] = {}
    """Hashes of the code, and versions of the libraries, that decide what the output is: with others it is no longer
    what this recipe gives."""

    @property
    def fingerprint(self) -> str:
        """Return 16 hex digits that identify the stage's output bytes and settings; downstream stages record it."""
        return settings_hash({"settings": self.settings, "inputs": self.inputs, "outputs": self.outputs})


def package_versions(*names: str) -> dict[str, str]:
    """Return name → installed version for the packages named (missing ones left out)."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def describe_outputs(folder: str | Path) -> dict[str, dict[str, Any]]:
    """Return {"path": {"bytes", "sha256"}} of every file under `folder`, but the manifest and what is not output.

    Left out: names that start with "." (marks), and folders named `logs` (they hold times and rates) or
    `checkpoints` (they come and go).
    """
    folder = Path(folder)
    found = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if not path.is_file() or relative.name == MANIFEST:
            continue
        if any(part.startswith(".") or part in ("logs", "checkpoints") for part in relative.parts):
            continue
        found[relative.as_posix()] = {"bytes": path.stat().st_size, "sha256": sha256_file(path)}
    return found


def write_manifest(folder: str | Path, manifest: Manifest) -> None:
    """Write `manifest.json` into `folder` atomically, with sorted keys."""
    with atomic_write(Path(folder) / MANIFEST) as stream:
        json.dump(manifest.model_dump(mode="json"), stream, ensure_ascii=False, indent=1, sort_keys=True)
        stream.write("\n")


def read_manifest(folder: str | Path) -> Manifest | None:
    """Return the folder's manifest, or None when there is none.

    Raises:
        HunminError: the manifest is there but damaged.
    """
    path = Path(folder) / MANIFEST
    if not path.exists():
        return None
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except ValidationError:
        raise HunminError(
            f"{path} is damaged",
            "a finished folder holds a readable manifest",
            f"delete {folder} and run again",
        ) from None


def missing_outputs(folder: str | Path, manifest: Manifest) -> list[str]:
    """Return the recorded outputs that are gone or have another size (hashes are not recomputed: sizes are free)."""
    folder = Path(folder)
    bad = []
    for name, facts in manifest.outputs.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != facts["bytes"]:
            bad.append(name)
    return bad
