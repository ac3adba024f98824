"""Progress of a run: the state of each stage, whether a command is at work, and its last sign."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from common.manifest import Manifest
from common.results import manifest_of
from common.stage_folders import MADE, folder_of, work_folder_of
from hunmin.pipeline.stage import stage_times
from hunmin.pipeline.stages import encoder_stages
from klue.plan import jobs_of

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
    """Seconds of the command that finished it."""
    counts: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


def read_stages(run: Path, active: bool, embeds: bool) -> list[StageFacts]:
    """Return the stages of a run in order.

    Args:
        run: run folder.
        active: whether a command is at work in it.
        embeds: whether its recipe tunes sentence embeddings.
    """
    times = stage_times(run)
    manifests: dict[str, Manifest | None] = {}
    by_name: dict[str, StageFacts] = {}
    for stage in encoder_stages(embeds):
        manifest = manifests[stage.name] = manifest_of(folder_of(run, stage.folder))
        state: StageState = "done"
        if work_folder_of(run, stage.folder).is_dir():
            state = "under way" if active else "unfinished"
        elif manifest is None:
            state = "waiting"
        else:
            for name in stage.after:
                before = manifests[name]
                if by_name[name].state != "done" or before is None or manifest.inputs.get(name) != before.fingerprint:
                    state = "outdated"
        if manifest is None:
            by_name[stage.name] = StageFacts(stage.name, state)
        else:
            seconds = times.get(stage.name, {}).get("seconds")
            by_name[stage.name] = StageFacts(stage.name, state, seconds, manifest.counts, manifest.versions)
    return list(by_name.values())


def last_written(run: Path, now: float) -> float | None:
    """Return when a log of an unfinished stage was written last, in seconds since 1970, or None where there is none.

    Args:
        run: run folder.
        now: seconds since 1970; a file of a later time shows nothing: the clock has been set back since.
    """
    folders = [work_folder_of(run, stage.folder) for stage in encoder_stages(embeds=True)]
    if work_folder_of(run, "klue").is_dir():
        folders += jobs_of(run / MADE).glob("*")
    times = []
    for folder in folders:
        for path in (path for pattern in ("*", "logs/*") for path in folder.glob(pattern)):
            with suppress(OSError):  # it has just been renamed
                times.append(path.stat().st_mtime)
    return max((time for time in times if time < now + FRESH), default=None)


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
