"""How far a run is: the state of each stage, whether a command is at work, and what it was last heard of."""

from __future__ import annotations

import fcntl
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from common.lock import LOCK
from common.manifest import Manifest, read_manifest
from hunmin.stages import STAGES, stage_times

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
    times = stage_times(run)
    manifests: dict[str, Manifest | None] = {}
    found: dict[str, StageFacts] = {}
    for stage in STAGES:
        manifest = manifests[stage.name] = read_manifest(run / stage.folder)
        state: StageState = "done"
        if (run / f"{stage.folder}.partial").is_dir():
            state = "under way" if active else "unfinished"
        elif manifest is None:
            state = "waiting"
        else:
            for name in stage.after:
                before = manifests[name]
                if found[name].state != "done" or before is None or manifest.inputs.get(name) != before.fingerprint:
                    state = "outdated"
        if manifest is None:
            found[stage.name] = StageFacts(stage.name, state)
        else:
            seconds = times.get(stage.name, {}).get("seconds")
            found[stage.name] = StageFacts(stage.name, state, seconds, manifest.counts, manifest.versions)
    return list(found.values())


def is_locked(run: Path) -> bool:
    """Return whether a process holds the lock of a run folder."""
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
        for pattern in ("*", "logs/*", "jobs/*"):
            for path in (run / f"{stage.folder}.partial").glob(pattern):
                with suppress(OSError):  # it has just been renamed
                    times.append(path.stat().st_mtime)
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
