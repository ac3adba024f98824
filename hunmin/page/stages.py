"""How far a run is: the state of each stage, whether a command is at work, and what it was last heard of."""

from __future__ import annotations

import fcntl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from common.lock import LOCK
from common.manifest import Manifest, read_manifest
from hunmin.stages import STAGES, Stage, stage_times

StageState = Literal["done", "outdated", "under way", "unfinished", "waiting"]
RunState = Literal["finished", "running", "stopped", "failed", "not running"]
FRESH = 600.0
"""Seconds for which a file that has just been written shows a command at work, where its lock cannot be seen: on
another machine."""


@dataclass(frozen=True)
class StageFacts:
    """A stage of a run."""

    name: str
    state: StageState
    seconds: float | None = None
    """That the command which finished it was at work on it."""
    counts: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


def read_stages(run: Path, active: bool) -> list[StageFacts]:
    """Return the stages of a run in order.

    Args:
        run: run folder.
        active: whether a command is at work in it.
    """
    manifests = {stage.name: read_manifest(run / stage.folder) for stage in STAGES}
    times = stage_times(run)
    found: dict[str, StageFacts] = {}
    for stage in STAGES:
        manifest = manifests[stage.name]
        state = _state(run, stage, manifests, {name: facts.state for name, facts in found.items()}, active)
        counts, versions = (manifest.counts, manifest.versions) if manifest else ({}, {})
        seconds = times.get(stage.name, {}).get("seconds") if manifest else None
        found[stage.name] = StageFacts(stage.name, state, seconds, counts, versions)
    return list(found.values())


def _state(
    run: Path, stage: Stage, manifests: dict[str, Manifest | None], before: dict[str, StageState], active: bool
) -> StageState:
    """Return the state of a stage, given those of the stages before it."""
    if (run / f"{stage.folder}.partial").is_dir():
        return "under way" if active else "unfinished"
    manifest = manifests[stage.name]
    if manifest is None:
        return "waiting"
    for name in stage.after:
        upstream = manifests[name]
        if before[name] != "done" or upstream is None or manifest.inputs.get(name) != upstream.fingerprint:
            return "outdated"
    return "done"


def is_locked(run: Path) -> bool:
    """Return whether a process holds the lock of a run folder.

    Args:
        run: run folder.
    """
    try:
        with (run / LOCK).open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no lock, or a file system that knows none
        return False
    return False


def last_written(run: Path) -> float | None:
    """Return when a log of an unfinished stage was written last, in seconds since 1970, or None where there is none."""
    times = []
    for stage in STAGES:
        logs = run / f"{stage.folder}.partial"
        for pattern in ("*", "logs/*", "jobs/*"):
            for path in logs.glob(pattern):
                try:
                    times.append(path.stat().st_mtime)
                except OSError:  # it has just been renamed
                    continue
    return max(times, default=None)


def run_state(stages: list[StageFacts], active: bool, stopped: bool, heartbeat: dict[str, Any]) -> RunState:
    """Return the state of a whole run.

    Args:
        stages: its stages.
        active: whether a command is at work.
        stopped: whether training received a stop signal and saved its state.
        heartbeat: of unfinished training; {} where there is none.
    """
    if all(stage.state == "done" for stage in stages):
        return "finished"
    if active:
        return "running"
    if heartbeat.get("state") == "failed":
        return "failed"
    return "stopped" if stopped else "not running"
