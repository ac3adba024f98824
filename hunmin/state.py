"""State of a run folder: which stages are done, which must be done again, and why."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import facts
from common.errors import HunminError
from common.facts import UNKNOWN, Facts
from common.files import atomic_write, is_remote, sha256_file
from common.manifest import WORK_MARK, damaged_outputs, missing_outputs, read_manifest, refuse_damaged
from common.rules import rules_number
from common.secrets import masked_urls
from common.settings import class_at, settings_hash
from common.stage_folders import folder_of, work_folder_of
from data.readers import HUB
from data.readers.volume import file_version
from hunmin.inputs import Input
from hunmin.recipe import RunSettings
from hunmin.stages import Stage, stage_named

BEGUN = "begun"
"""Key of the mark: when the work began, in seconds; the file's own time is that of a copy in a copied run."""
SHOWN_CHANGES = 4
RULES = "begun by other rules"
KEY = "corpus.pii.key_fingerprint"
KEY_DIFFERS = "the key of the pseudonyms (HUNMIN_PII_KEY, or corpus.pii.key) is not the one that the run began with"


@dataclass(frozen=True)
class Verdict:
    """Whether a stage is done, and if not, why."""

    stage: Stage
    done: bool
    why: str
    resumes: bool = False
    """An unfinished attempt with the same settings and inputs is there to continue from."""
    changes: tuple[str, ...] = ()
    """What differs from what the work that is there was made of: settings as "key: old → new", files, rules."""
    begun: tuple[str, ...] = ()
    """The same of an unfinished attempt beside a finished output."""
    missing: bool = False
    """An output is missing or cut short."""
    grows: bool = False
    """The finished output is taken over: all of its work is part of the new one."""
    roots: tuple[str, ...] = ()
    """Why the work that is there would be replaced: the changes of this stage and of those before it. A missing output
    is one of a stage that `keep`s its work; another one is made again, to the same bytes."""


class RunFolder:
    """A run's folder: stage folders, the unfinished ones beside them, and a cache of input hashes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cache_path = path / "logs" / "input-hashes.json"
        self._cache: dict[str, list[Any]] = {}
        self._versions: dict[str, str] = {}
        self._whole: set[str] = set()
        with suppress(FileNotFoundError, ValueError):
            self._cache = json.loads(self._cache_path.read_bytes())

    def final(self, stage: Stage) -> Path:
        """Return the folder a finished stage has."""
        return folder_of(self.path, stage.folder)

    def partial(self, stage: Stage) -> Path:
        """Return the folder a stage works in until it is finished."""
        return work_folder_of(self.path, stage.folder)

    def digests(self, inputs: Iterable[Input]) -> dict[str, str]:
        """Return label → digest of the content of each input, followed by a hash of how it is read where it says that.

        A local file is hashed again only when its size or time changed. Of a URL or a data set of the hub it is the
        hash of the version that its store tells, or `UNKNOWN`, as of a file that is gone.
        """
        digests: dict[str, str] = {}
        for label, path, read_as in inputs:
            content = self._content(path) if path else "-"
            digests[_unique(label, digests)] = content + (f" {settings_hash(read_as)}" if read_as is not None else "")
        return digests

    def _content(self, path: str) -> str:
        if path.startswith(HUB) or is_remote(path):
            if path not in self._versions:  # asked once a command
                version = file_version(path).facts
                self._versions[path] = UNKNOWN if version is None else settings_hash(version)
            return self._versions[path]
        try:
            facts = Path(path).stat()
        except FileNotFoundError:
            return UNKNOWN
        key = str(Path(path).resolve())
        known = self._cache.get(key)
        if known is None or known[:2] != [facts.st_size, facts.st_mtime_ns]:
            self._cache[key] = known = [facts.st_size, facts.st_mtime_ns, sha256_file(path)]
        return str(known[2])

    def save_cache(self) -> None:
        """Keep the hashes for the next run."""
        with atomic_write(self._cache_path) as stream:
            json.dump(self._cache, stream)

    def inputs(self, recipe: RunSettings, stage: Stage) -> dict[str, str] | None:
        """Return the stage's inputs and their hashes, or None while an upstream stage is unfinished."""
        found = self.digests(stage.inputs(recipe))
        for name in stage.after:
            manifest = read_manifest(self.final(stage_named(name, recipe)))
            if manifest is None:
                return None
            found[name] = manifest.fingerprint
        return found

    def work_mark(self, stage: Stage) -> Facts | None:
        """Return the settings, inputs and rules an unfinished attempt was begun with, or None."""
        try:
            mark = json.loads((self.partial(stage) / WORK_MARK).read_bytes())
            return Facts(mark["settings"], mark["inputs"], mark["rules"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def is_finished(self, stage: Stage, mark: Facts) -> bool:
        """Return whether an unfinished folder holds the whole output of this mark: its command was stopped between its
        last file and its name."""
        partial = self.partial(stage)
        try:
            manifest = read_manifest(partial)
        except HunminError:
            return False
        return (
            manifest is not None
            and manifest.stage == stage.name
            and not differences(stage, Facts.of(manifest), mark)
            and not damaged_outputs(partial, manifest)
        )

    def check_outputs(self, stage: Stage, unread: tuple[str, ...] = ()) -> None:
        """Read a finished stage's outputs, once, and compare them with its manifest.

        Args:
            unread: patterns of outputs that are not going to be read.

        Raises:
            HunminError: their bytes are not those that the stage wrote.
        """
        if stage.name in self._whole:
            return
        refuse_damaged(self.final(stage), f"make it again with --from {stage.name}", unread)
        if not unread:
            self._whole.add(stage.name)


def _unique(label: str, taken: Container[str]) -> str:
    """Return a label without what logs in at its URL, and with a number where another input has it."""
    name = fresh = masked_urls(label)
    number = 1
    while fresh in taken:
        number += 1
        fresh = f"{name} ({number})"
    return fresh


def begun_with(stage: Stage, settings: dict[str, Any], inputs: dict[str, str] | None) -> Facts:
    """Return what an unfinished attempt is marked with: one with another mark is not taken up as it is.

    Args:
        inputs: None where several processes begin, of which each would have to hash them.
    """
    return Facts(settings, inputs, rules_number(stage.name))


def judge(
    folder: RunFolder, recipe: RunSettings, stage: Stage, redone: Mapping[str, Verdict], force: str = ""
) -> Verdict:
    """Return whether a stage is done for this recipe.

    Args:
        redone: stages before it that are to be done again in the same run.
        force: the option that asks for it even if it is done (`--from`, `--restart`), else "".
    """
    manifest, mark = read_manifest(folder.final(stage)), folder.work_mark(stage)
    settings = stage.settings(recipe)
    upstream = [redone[name] for name in stage.after if name in redone]
    names = tuple(before.stage.name for before in upstream)
    inputs = None if upstream else folder.inputs(recipe, stage)
    now = begun_with(stage, settings, inputs)
    begun = differences(stage, mark, now) if mark else {}
    resumes = mark is not None and inputs is not None and not begun
    changes = differences(stage, Facts.of(manifest), now) if manifest else begun

    grows = (
        manifest is not None
        and inputs is not None
        and not force
        and bool(changes)
        and manifest.inputs.items() <= inputs.items()
        and stage.includes(recipe, manifest.settings)
    )

    def verdict(why: str, changes: dict[str, list[str]] | None = None, missing: bool = False) -> Verdict:
        lines = listed(stage, changes or {}, manifest is not None)
        own = (*lines, why) if missing and stage.keep else lines
        roots = tuple(dict.fromkeys([*own, *(root for before in upstream for root in before.roots)]))
        beside = listed(stage, begun, False) if manifest else ()
        return Verdict(stage, False, why, resumes, lines, beside, missing, grows, roots)

    if manifest is None:
        if inputs is not None and folder.is_finished(stage, now):
            return Verdict(stage, False, "finished, but for its name", resumes=True)
        if mark and not resumes and (changes or upstream):
            return verdict(_reason(changes, names), changes)
        return verdict("unfinished: continues" if resumes else "not done yet")
    if force:
        return verdict(f"asked for by {force}")
    older = changes.pop(RULES, [])
    if changes:
        why = _reason(changes, ())
        if grows:
            why += "; what is finished is kept"
        return verdict(why, changes)
    if upstream:
        return verdict(_reason({}, names))
    if missing := missing_outputs(folder.final(stage), manifest):
        return verdict("output missing or cut short: " + ", ".join(missing[:SHOWN_CHANGES]), missing=True)
    return Verdict(stage, True, f"done by {older[0]}; --from {stage.name} makes it again" if older else "done")


def differences(stage: Stage, before: Facts, now: Facts) -> dict[str, list[str]]:
    """Return what differs from what work was begun with, by kind; kinds without a difference are left out.

    No difference, beside those of `common.facts`: settings that a finished output only states (`Stage.free`).
    """
    model = class_at(stage.kind, [stage.section]) if stage.section else None
    found = facts.differences(before, now, stage.name, model, stage.section)
    own = [line for line in found.settings if line.partition(":")[0] not in stage.free]
    if keys := [line for line in own if line.startswith(f"{KEY}:")]:
        own.remove(keys[0])  # a fingerprint says nothing to a person; one that comes or goes is told by pii.enabled
        own += [] if "null" in keys[0] else [KEY_DIFFERS]
    kinds = {
        "setting changed": own,
        RULES: list(found.rules),
        "input changed": [f"the output of '{line}'" if line in stage.after else line for line in found.inputs],
    }
    return {kind: lines for kind, lines in kinds.items() if lines}


def listed(stage: Stage, changes: dict[str, list[str]], finished: bool) -> tuple[str, ...]:
    """Return differences in lines; a finished output may be of older rules."""
    return tuple(
        f"{stage.name} was begun by {line}" if kind == RULES else line
        for kind, lines in changes.items()
        if kind != RULES or not finished
        for line in lines
    )


def _reason(changes: dict[str, list[str]], upstream: tuple[str, ...]) -> str:
    """Return the first kind of change in one line."""
    for kind, lines in changes.items():
        joint = "; " if kind == "setting changed" else ", "
        return f"{kind}: " + joint.join(lines[:SHOWN_CHANGES])
    return f"reads {', '.join(upstream)}, to be done before it"
