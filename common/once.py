"""Work that is done once: its folder has its final name from the first byte, and is finished when it has a manifest.

    root/mined-3f9a1c2e21/  .work.json                  at work, or stopped: the same facts continue here
    root/mined-b81e07d2aa/  manifest.json  pairs.jsonl  whole: never written again

A folder is known by its facts, not by the hash in its name: a difference that makes no difference (a new setting at its
default, a store that cannot be asked) makes no new folder.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, Any

from pydantic import BaseModel

from common.errors import HunminError
from common.facts import Differences, Facts, differences, rules_since
from common.files import atomic_write, fsync_files, read_bytes, remove_leftovers
from common.manifest import (
    MANIFEST,
    WORK_MARK,
    Manifest,
    describe_outputs,
    missing_outputs,
    package_versions,
    read_manifest,
    write_manifest,
)
from common.progress import say
from common.settings import settings_hash

Make = Callable[[Path], dict[str, Any]]
"""Fills a folder, in which a stopped attempt may have left something, and returns counts."""
BEGUN = "begun"
"""Key of the mark: when the work began, in seconds; the file's own time is that of a copy in a copied run."""


@dataclass(frozen=True)
class Whole:
    """A finished folder of the facts at hand."""

    folder: Path
    manifest: Manifest
    missing: tuple[str, ...]
    """Outputs that are gone or cut short."""


@dataclass(frozen=True)
class Work:
    """One kind of work in a folder of such works.

    Args:
        root: where their folders are; the caller holds its lock.
        name: begins the names of its folders.
        stage: stands in their manifests.
        model: class of its settings.
        packages: whose versions its bytes depend on.
        rules: stage whose rules it follows; "" is its own.
        section: what the settings' keys begin with in messages.
    """

    root: Path
    name: str
    stage: str
    model: type[BaseModel] | None = None
    packages: tuple[str, ...] = ()
    rules: str = ""
    section: str = ""

    def once(self, facts: Facts, make: Make, current: Path | None = None) -> Path:
        """Return the whole folder that was made of these facts: one that is there, else what `make` fills.

        An unfinished folder of the same facts and of today's rules is continued; whatever else is there stays as it is.

        Args:
            facts: of the work.
            make: does it.
            current: the folder that counts until now; of several that fit it is taken, else the newest.

        Raises:
            HunminError: the folder that fits lacks an output.
        """
        whole = self.whole(facts, current)
        if whole is None:
            return self.make(facts, make, self.unfinished(facts))
        if whole.missing:
            raise HunminError(
                f"{whole.folder / whole.missing[0]} is missing or cut short",
                "a finished folder is never made over",
                f"restore the file from a copy, or move {whole.folder} away and run again",
            )
        (whole.folder / WORK_MARK).unlink(missing_ok=True)  # of a command that was killed as it ended
        say(f"{whole.folder} is there: same settings and inputs")
        for line in rules_since(self.rules or self.stage, whole.manifest.rules, facts.rules):
            say(f"warning: {whole.folder.name} was made by {line}", style="yellow")
        return whole.folder

    def whole(self, facts: Facts, current: Path | None = None) -> Whole | None:
        """Return the whole folder of these facts; of several one that lacks nothing, the current one, or the newest."""
        fitting = []
        for folder in self.folders():
            manifest = self._manifest(folder)
            changed = self.differences(Facts.of(manifest), facts) if manifest and manifest.stage == self.stage else None
            if manifest and changed and not (changed.settings or changed.inputs):
                fitting.append(Whole(folder, manifest, tuple(missing_outputs(folder, manifest))))
        return max(
            fitting, key=lambda work: (not work.missing, work.folder == current, _written(work.folder)), default=None
        )

    def unfinished(self, facts: Facts, at_work: Path | None = None) -> Path | None:
        """Return the unfinished folder that was begun with these facts, by today's rules; of several the one at work,
        or the newest."""
        marks = {folder: mark for folder in self.folders() if (mark := read_mark(folder))}
        same = [folder for folder, mark in marks.items() if not self.differences(mark, facts).any]
        return at_work if at_work in same else same[-1] if same else None

    def folders(self) -> list[Path]:
        """Return the folders of this kind, the oldest first; one without mark and manifest is damaged, and not one."""
        pattern = re.compile(re.escape(self.name) + r"-[0-9a-f]{10}(\.\d+)?")
        named = [path for path in self.root.glob(f"{self.name}-*") if pattern.fullmatch(path.name)]
        return sorted((path for path in named if _written(path)), key=_written)

    def differences(self, before: Facts, now: Facts) -> Differences:
        """Return what differs between the facts of two such works."""
        return differences(before, now, self.rules or self.stage, self.model, self.section)

    def make(
        self, facts: Facts, make: Make, folder: Path | None = None, lineage: Mapping[str, str] | None = None
    ) -> Path:
        """Fill a folder of these facts, write its manifest, and return it.

        Args:
            facts: of the work.
            make: does it.
            folder: an unfinished one to continue; None begins a new one.
            lineage: stage → name of its folder that is read.
        """
        folder = folder or self._begun(facts, dict(lineage or {}))
        counts = make(folder)
        remove_leftovers(folder)
        manifest = Manifest(
            stage=self.stage, settings=facts.settings, inputs=facts.inputs or {}, outputs=describe_outputs(folder),
            counts=counts, versions=package_versions("hunmin", *self.packages), rules=facts.rules,
            lineage=dict(lineage or {}),
        )  # fmt: skip
        fsync_files(folder)
        write_manifest(folder, manifest)
        (folder / WORK_MARK).unlink()
        return folder

    def _manifest(self, folder: Path) -> Manifest | None:
        try:
            return read_manifest(folder)
        except HunminError as error:  # that one is not used, and no other is lost for it
            say(f"warning: {error.problem}: it is left as it is", style="yellow")
            return None

    def _begun(self, facts: Facts, lineage: dict[str, str]) -> Path:
        """Return a new folder with its mark; one without anything but a kill's leftovers is taken."""
        digest = settings_hash(asdict(facts))[:10]
        number = 1
        while True:
            folder = self.root / (f"{self.name}-{digest}" + (f".{number}" if number > 1 else ""))
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                if any(not fnmatch(path.name, ".*.tmp") for path in folder.iterdir()):
                    number += 1
                    continue
                remove_leftovers(folder)
            with atomic_write(folder / WORK_MARK) as stream:
                mark = {**asdict(facts), "lineage": lineage, BEGUN: time.time()}
                json.dump(mark, stream, ensure_ascii=False, indent=1)
            return folder


def read_mark(folder: Path) -> Facts | None:
    """Return the facts that an unfinished folder was begun with; None of a whole one, and where the mark is none."""
    if (folder / MANIFEST).exists():
        return None
    try:
        mark = json.loads(read_bytes(folder / WORK_MARK))
        return Facts(mark["settings"], mark["inputs"], mark["rules"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def with_lineage(folder: Path) -> dict[str, Path]:
    """Return name → folder of a folder that is done once, unfinished or whole, and of all that it was made of."""
    reached: dict[str, Path] = {}
    waiting = [folder]
    while waiting:
        folder = waiting.pop()
        if folder.name not in reached:
            reached[folder.name] = folder
            waiting += [folder.with_name(Path(name).name) for name in _lineage(folder)]
    return reached


def _lineage(folder: Path) -> list[str]:
    for name in (MANIFEST, WORK_MARK):
        with suppress(OSError, ValueError, KeyError, AttributeError):
            return [str(folder_name) for folder_name in json.loads(read_bytes(folder / name))["lineage"].values()]
    return []


def once_file(path: Path, make: Callable[[IO[bytes]], None]) -> Path:
    """Return a file whose name says all that it is of: the one that is there, else what `make` writes, in one rename.

    Args:
        path: of the file.
        make: writes into the stream that it is given; processes that do so at once write the same bytes.
    """
    if not path.exists():
        with atomic_write(path, "wb") as stream:
            make(stream)
    return path


def _written(folder: Path) -> int:
    """Return when a folder's manifest or mark was written, in nanoseconds; 0 where it has neither."""
    times = []
    for name in (MANIFEST, WORK_MARK):
        with suppress(OSError):
            times.append((folder / name).stat().st_mtime_ns)
    return max(times, default=0)
