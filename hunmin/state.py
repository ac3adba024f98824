"""State of a run folder: which stages are done, which must be done again, and why."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.files import atomic_write, expand, is_remote, sha256_file
from common.manifest import missing_outputs, read_manifest
from common.settings import changed_keys, settings_hash
from data.readers import HUB
from data.readers.volume import file_version
from hunmin.recipe import Recipe
from hunmin.stages import STAGES, Stage

WORK_MARK = ".work.json"
UNKNOWN = "remote"
"""Version of a remote input whose store does not tell it, or cannot be asked now: no reason to do a stage again."""


@dataclass(frozen=True)
class Verdict:
    """Whether a stage is done, and if not, why."""

    stage: Stage
    done: bool
    why: str
    resumes: bool = False
    """An unfinished attempt with the same settings and inputs is there to go on from."""


class RunFolder:
    """A run's folder: stage folders, the unfinished ones beside them, and a cache of input hashes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cache_path = path / "logs" / "input-hashes.json"
        self._cache: dict[str, list[Any]] = {}
        if self._cache_path.exists():
            try:
                self._cache = json.loads(self._cache_path.read_bytes())
            except ValueError:
                self._cache = {}

    def final(self, stage: Stage) -> Path:
        """Return the folder a finished stage has."""
        return self.path / stage.folder

    def partial(self, stage: Stage) -> Path:
        """Return the folder a stage works in until it is finished."""
        return self.path / f"{stage.folder}.partial"

    def file_hashes(self, patterns: list[str]) -> dict[str, str]:
        """Return path → SHA-256 of every file the patterns stand for.

        A local file is hashed again only when its size or time changed. Of a URL or a data set of the hub it is the
        hash of the version that its store tells, or `UNKNOWN`.
        """
        found = {}
        for pattern in patterns:
            hub = pattern.startswith(HUB)
            for name in [pattern] if hub else expand(pattern):
                if hub or is_remote(name):
                    version = file_version(name).facts
                    found[name] = UNKNOWN if version is None else settings_hash(version)
                    continue
                facts = Path(name).stat()
                key = str(Path(name).resolve())
                known = self._cache.get(key)
                if known is None or known[:2] != [facts.st_size, facts.st_mtime_ns]:
                    self._cache[key] = known = [facts.st_size, facts.st_mtime_ns, sha256_file(name)]
                found[name] = known[2]
        return found

    def save_cache(self) -> None:
        """Keep the hashes for the next run."""
        with atomic_write(self._cache_path) as stream:
            json.dump(self._cache, stream)

    def inputs(self, recipe: Recipe, stage: Stage) -> dict[str, str] | None:
        """Return the stage's inputs and their hashes, or None while an upstream stage is unfinished."""
        found = self.file_hashes(stage.files(recipe))
        for name in stage.after:
            upstream = next(s for s in STAGES if s.name == name)
            manifest = read_manifest(self.final(upstream))
            if manifest is None:
                return None
            found[name] = manifest.fingerprint
        return found

    def work_mark(self, stage: Stage) -> dict[str, Any] | None:
        """Return the settings, inputs and rules an unfinished attempt was begun with, or None."""
        try:
            loaded: dict[str, Any] = json.loads((self.partial(stage) / WORK_MARK).read_bytes())
            return loaded
        except (OSError, ValueError):
            return None


def begun_with(stage: Stage, settings: dict[str, Any], inputs: dict[str, str]) -> dict[str, Any]:
    """Return what an unfinished attempt is marked with: one with another mark is not taken up as it is."""
    return {"settings": settings, "inputs": inputs, "rules": stage.rules()}


def judge(folder: RunFolder, recipe: Recipe, stage: Stage, redone: set[str], force: bool = False) -> Verdict:
    """Return whether a stage is done for this recipe.

    Args:
        redone: stages before it that are to be done again in the same run.
        force: do it even if it is done (`--from`).
    """
    manifest = read_manifest(folder.final(stage))
    settings = stage.settings(recipe)
    upstream = [name for name in stage.after if name in redone]
    inputs = None if upstream else folder.inputs(recipe, stage)
    mark = folder.work_mark(stage)
    resumes = bool(mark) and inputs is not None and mark == begun_with(stage, settings, inputs)
    if manifest is None:
        return Verdict(stage, False, "unfinished: goes on" if resumes else "not done yet", resumes)
    if force:
        return Verdict(stage, False, "asked for by --from", resumes)
    changed = changed_keys(manifest.settings, settings)
    if changed:
        return Verdict(stage, False, "setting changed: " + "; ".join(changed[:4]), resumes)
    rules = changed_names(manifest.rules, stage.rules())
    if rules and not stage.keeps(recipe):
        why = f"made by other rules: {', '.join(rules[:4])}; {stage.name}.keep_finished=true leaves it as it is"
        return Verdict(stage, False, why, resumes)
    if upstream:
        return Verdict(stage, False, f"reads {', '.join(upstream)}, to be done before it", resumes)
    names = changed_names(manifest.inputs, inputs or {})
    names = [name for name in names if UNKNOWN not in (manifest.inputs.get(name), (inputs or {}).get(name))]
    if names:
        return Verdict(stage, False, "input changed: " + ", ".join(names[:4]), resumes)
    missing = missing_outputs(folder.final(stage), manifest)
    if missing:
        return Verdict(stage, False, "output missing or cut short: " + ", ".join(missing[:4]), resumes)
    return Verdict(stage, True, "done")


def changed_names(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return the names that came, went or stand for something else, sorted."""
    return [name for name in sorted(before.keys() | now) if before.get(name) != now.get(name)]
