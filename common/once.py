"""Work that is done once: in a folder that has its name from the first byte, and is whole when its manifest is there.

    root/mined-3f9a1c2e21/  .work.json                  at work, or stopped: the same facts continue here
    root/mined-b81e07d2aa/  manifest.json  pairs.jsonl  whole: never written again

A folder is known by its facts, not by the hash in its name: a difference that makes no difference (a new setting at its
default, a store that cannot be asked) makes no new folder.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, Any

from pydantic import BaseModel

from common.errors import HunminError, UserError
from common.facts import Differences, Facts, differences, rules_since
from common.files import atomic_write, fsync_files, remove_leftovers
from common.manifest import (
    MANIFEST,
    WORK_MARK,
    Manifest,
    describe_outputs,
    made_by,
    missing_outputs,
    package_versions,
    read_manifest,
    write_manifest,
)
from common.progress import say
from common.rules import rules_number
from common.settings import settings_hash
from common.stage_folders import CURRENT, MADE, current_names

Make = Callable[[Path], dict[str, Any]]
"""Fills a folder, in which a stopped attempt may have left something, and returns counts."""


@dataclass(frozen=True)
class Work:
    """One kind of work in a folder of such works.

    Args:
        root: where their folders are; the caller holds its lock.
        name: begins the names of its folders, and stands in their manifests.
        stage: whose rules it follows.
        model: class of its settings.
        packages: whose versions its bytes depend on.
    """

    root: Path
    name: str
    stage: str
    model: type[BaseModel] | None = None
    packages: tuple[str, ...] = ()

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
        whole = [(folder, manifest) for folder in self._folders() if (manifest := self._manifest(folder))]
        if fitting := [one for one in whole if self._fits(Facts.of(one[1]), facts)]:
            folder, manifest = max(fitting, key=lambda one: (one[0] == current, _written(one[0])))
            say(f"{folder} is there: same settings and inputs")
            return self._checked(folder, manifest)
        unfinished = [folder for folder in self._folders() if self._continues(folder, facts)]
        folder = unfinished[0] if unfinished else self._begun(facts)
        counts = make(folder)
        remove_leftovers(folder)
        self._end(folder, facts, counts)
        return folder

    def _folders(self) -> list[Path]:
        """Return the folders of this kind, the oldest first; one without mark and manifest is damaged, and not one."""
        pattern = re.compile(re.escape(self.name) + r"-[0-9a-f]{10}(\.\d+)?")
        named = [path for path in self.root.glob(f"{self.name}-*") if pattern.fullmatch(path.name)]
        return sorted((path for path in named if _written(path)), key=_written)

    def _manifest(self, folder: Path) -> Manifest | None:
        try:
            return read_manifest(folder)
        except HunminError as error:  # that one is not used, and no other is lost for it
            say(f"warning: {error.problem}: it is left as it is", style="yellow")
            return None

    def _differences(self, before: Facts, now: Facts) -> Differences:
        return differences(before, now, self.stage, self.model)

    def _fits(self, before: Facts, now: Facts) -> bool:
        found = self._differences(before, now)
        return not (found.settings or found.inputs)

    def _continues(self, folder: Path, facts: Facts) -> bool:
        if (folder / MANIFEST).exists():
            return False
        try:
            mark = json.loads((folder / WORK_MARK).read_bytes())
            return self._differences(Facts(**mark), facts) == Differences()
        except (OSError, ValueError, TypeError, AttributeError):  # a mark that is no mark continues nothing
            return False

    def _checked(self, folder: Path, manifest: Manifest) -> Path:
        if missing := missing_outputs(folder, manifest):
            raise HunminError(
                f"{folder / missing[0]} is missing or cut short",
                "a finished folder is never made over",
                f"restore the file from a copy, or move {folder} away and run again",
            )
        for line in rules_since(self.stage, manifest.rules, rules_number(self.stage)):
            say(f"warning: {folder.name} was made by {line}", style="yellow")
        with suppress(FileNotFoundError):  # of a command that was killed as it ended
            (folder / WORK_MARK).unlink()
        return folder

    def _begun(self, facts: Facts) -> Path:
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
                json.dump(asdict(facts), stream, ensure_ascii=False, indent=1)
            return folder

    def _end(self, folder: Path, facts: Facts, counts: Mapping[str, Any]) -> None:
        manifest = Manifest(
            stage=self.name, settings=facts.settings, inputs=facts.inputs or {}, outputs=describe_outputs(folder),
            counts=dict(counts), versions=package_versions("hunmin", *self.packages), rules=facts.rules,
        )  # fmt: skip
        fsync_files(folder)
        write_manifest(folder, manifest)
        (folder / WORK_MARK).unlink()


def once_file(path: Path, make: Callable[[IO[bytes]], None]) -> Path:
    """Return a file whose name says all that it is of: the one that is there, else what `make` writes, in one rename.

    Args:
        path: of the file.
        make: writes into the stream that it is given; processes that do so at once write the same bytes.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
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


def refuse_taken_name(run: Path, stage: str) -> None:
    """Raise a UserError where something of the user's has the name of a work's link; a copied run may hold a folder of
    ours there."""
    link = run / stage
    if os.path.lexists(link) and not link.is_symlink() and not made_by(link, stage):
        raise UserError(f"{link} holds something else", "a link to the result gets that name", "move it away")


def make_current(run: Path, stage: str, folder: Path) -> None:
    """Say that a folder of `MADE` counts for a work from now on, and link its name to it."""
    with atomic_write(run / CURRENT) as stream:
        json.dump({**current_names(run), stage: folder.name}, stream, indent=1, sort_keys=True)
    link, fresh = run / stage, run / f".{stage}.tmp"
    try:
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(Path(MADE) / folder.name)
        fresh.replace(link)
    except OSError as error:
        say(f"no link {link}: {error.strerror}; the result is in {folder}", style="yellow")
