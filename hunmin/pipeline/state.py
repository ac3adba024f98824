"""State of a run folder: which stages are done, which must be done again, and why."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.facts import UNKNOWN, Differences, Facts, rules_since
from common.files import HUB, atomic_write, is_remote, read_bytes, sha256_file
from common.manifest import read_manifest, refuse_damaged
from common.once import Work, read_mark
from common.rules import rules_number
from common.secrets import masked_urls
from common.settings import settings_hash
from common.stage_folders import MADE, folder_of, work_folder_of
from data.readers.volume import file_version
from hunmin.pipeline.inputs import Input
from hunmin.pipeline.stage import Stage
from hunmin.pipeline.stages import stage_named
from hunmin.recipes.preflight import parent_of
from hunmin.recipes.recipe import RunSettings

SHOWN_CHANGES = 4
KEY = ".pii.key_fingerprint:"
KEY_DIFFERS = "the key of the pseudonyms (HUNMIN_PII_KEY, or corpus.pii.key) is not the one that the run began with"


@dataclass(frozen=True)
class Verdict:
    """Whether a stage is done, and if not, why."""

    stage: Stage
    done: bool
    why: str
    folder: Path | None = None
    """The finished folder of these settings and inputs, or the unfinished one in which the stage continues."""
    earlier: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)
    """Current and unfinished folders of other settings or inputs, each with its differences: settings as "key: old →
    new", files, rules."""
    roots: tuple[str, ...] = ()
    """Why earlier work no longer counts: the differences of this stage, and of those before it."""

    @property
    def resumes(self) -> bool:
        """Return whether an unfinished attempt with the same settings and inputs is there to continue from."""
        return not self.done and self.folder is not None


class RunFolder:
    """A run's folder: the folders of its stages, and a cache of input hashes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cache_path = path / "logs" / "input-hashes.json"
        self._cache: dict[str, list[Any]] = {}
        self._versions: dict[str, str] = {}
        self._read: set[str] = set()
        with suppress(FileNotFoundError, ValueError):
            self._cache = json.loads(read_bytes(self._cache_path))

    def final(self, stage: Stage) -> Path:
        """Return the folder of a stage's output."""
        return folder_of(self.path, stage.folder)

    def partial(self, stage: Stage) -> Path:
        """Return the folder of a stage's unfinished work."""
        return work_folder_of(self.path, stage.folder)

    def work(self, stage: Stage) -> Work:
        """Return the stage as a `Work`, which finds its finished and unfinished folders."""
        section = stage.name if stage.model else ""
        return Work(self.path / MADE, stage.folder, stage.name, stage.model, stage.packages, section=section)

    def digests(self, inputs: Iterable[Input]) -> dict[str, str]:
        """Return label → digest of the content of each input, followed by a hash of its `read_as` where it has one.

        A local file is hashed again only when its size or time changed. A URL or data set of the hub has the hash of
        the version that its store reports, else `UNKNOWN`, as a file that is gone.
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
        """Write the cache of hashes."""
        with atomic_write(self._cache_path) as stream:
            json.dump(self._cache, stream)

    def facts(self, recipe: RunSettings, stage: Stage) -> Facts | None:
        """Return the facts of a stage by this recipe, or None while a stage before it is unfinished."""
        inputs = self.digests(stage.inputs(recipe))
        for name in stage.after:
            manifest = read_manifest(self.final(stage_named(name, recipe)))
            if manifest is None:
                return None
            inputs[name] = manifest.fingerprint
        return Facts(stage.settings(recipe), inputs, rules_number(stage.name))

    def lineage(self, recipe: RunSettings, stage: Stage) -> dict[str, str]:
        """Return stage → folder name, for the stages whose output a stage reads and a branch's parent in this run."""
        names = {name: self.final(stage_named(name, recipe)).name for name in stage.after}
        branch = getattr(getattr(recipe, stage.name, None), "branch_from", None)
        parent = Path(parent_of(branch, self.path) or "").resolve().parent.parent
        return {**names, "branch_from": parent.name} if branch and parent.parent.name == MADE else names

    def check_outputs(self, stage: Stage, unread: tuple[str, ...] = ()) -> None:
        """Read a finished stage's outputs, once, and compare them with its manifest.

        Args:
            unread: patterns of outputs that are not going to be read.

        Raises:
            HunminError: their bytes are not those that the stage wrote.
        """
        if stage.name in self._read:
            return
        refuse_damaged(self.final(stage), f"make it again with --from {stage.name}", unread)
        if not unread:
            self._read.add(stage.name)


def _unique(label: str, taken: Container[str]) -> str:
    """Return a label with its URL's secrets masked, and with a number where another input has the same."""
    name = fresh = masked_urls(label)
    number = 1
    while fresh in taken:
        number += 1
        fresh = f"{name} ({number})"
    return fresh


def judge(
    folder: RunFolder, recipe: RunSettings, stage: Stage, redone: Mapping[str, Verdict], force: str = ""
) -> Verdict:
    """Return whether a stage is done for this recipe.

    Args:
        redone: verdicts of the stages before it that this run is to do.
        force: the option that asks for it even if it is done (`--from`, `--restart`), else "".
    """
    work = folder.work(stage)
    final = folder.final(stage)
    partial = folder.partial(stage)
    upstream = [redone[name] for name in stage.after if name in redone]
    facts = None if upstream else folder.facts(recipe, stage)
    unfinished = work.unfinished(facts, partial) if facts else None
    # work begun anew (--from, --restart) continues, though what it is to succeed is there
    whole = work.whole(facts, final) if facts and not (unfinished and unfinished == partial) else None
    if whole and not force and not whole.missing:
        older = rules_since(stage.name, whole.manifest.rules, rules_number(stage.name))
        return Verdict(
            stage, True, f"done by {older[0]}; --from {stage.name} makes it again" if older else "done", whole.folder
        )

    now = facts or Facts(stage.settings(recipe), None, rules_number(stage.name))
    manifest = read_manifest(final)
    past = {final: Facts.of(manifest) if manifest else None, partial: read_mark(partial)}
    differing = {path: work.differences(before, now) for path, before in past.items() if before and path != unfinished}
    earlier = {path: difference_lines(stage, differs, path == final) for path, differs in differing.items()}
    own = [line for lines in earlier.values() for line in lines]
    counting = [
        path for path, before in past.items() if before and facts and stage.includes(before, facts, path == final)
    ]
    for path in counting:
        earlier.pop(path, None)
    why = "unfinished: continues" if unfinished else "not done yet"
    if force:
        why = f"asked for by {force}"
    elif whole:
        why = f"output missing or cut short: {', '.join(whole.missing[:SHOWN_CHANGES])}"
        earlier[whole.folder] = (why,)  # made again it has the same bytes: no reason for stages after it
    elif own:
        why = _reason(stage, next(differs for differs in differing.values() if differs.any))
        why += "; what is finished is kept" if counting else ""
    elif upstream and earlier:
        why = f"reads {', '.join(before.stage.name for before in upstream)}, to be done before it"
    roots = dict.fromkeys([*own, *(root for before in upstream for root in before.roots)])
    return Verdict(stage, False, why, unfinished, earlier, tuple(roots))


def difference_lines(stage: Stage, differs: Differences, finished: bool) -> tuple[str, ...]:
    """Return differences in lines; a finished output may be of older rules."""
    inputs = (f"the output of '{line}'" if line in stage.after else line for line in differs.inputs)
    rules = () if finished else (f"{stage.name} was begun by {line}" for line in differs.rules)
    return (*_settings(differs), *rules, *inputs)


def _settings(differs: Differences) -> list[str]:
    """Return lines on the settings that differ. Of a key it is said that it differs; whether there is one is said by
    pii.enabled."""
    keys = [line for line in differs.settings if KEY in line]
    lines = [line for line in differs.settings if line not in keys]
    return [*lines, *(KEY_DIFFERS for line in keys if "null" not in line)]


def _reason(stage: Stage, differs: Differences) -> str:
    if settings := _settings(differs):
        return f"setting changed: {'; '.join(settings[:SHOWN_CHANGES])}"
    if inputs := difference_lines(stage, Differences(inputs=differs.inputs), finished=True):
        return f"input changed: {', '.join(inputs[:SHOWN_CHANGES])}"
    return difference_lines(stage, differs, finished=False)[0]
