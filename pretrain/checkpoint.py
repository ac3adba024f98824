"""Checkpoints: a folder a step, written under a temporary name and renamed once durable; a mark says it is whole."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import atomic_write, disk_errors, publish_folder
from common.progress import say

MARK = "complete.json"
STATE = "state"


def step_folder(folder: Path, step: int) -> Path:
    """Return the folder of the checkpoint after `step` optimizer steps."""
    return folder / f"step-{step:08d}"


def complete_checkpoints(folder: Path) -> list[tuple[int, Path]]:
    """Return (step, folder) of every whole checkpoint, ascending; what is damaged is passed over with a warning."""
    found = []
    for path in sorted(folder.glob("step-*")):
        mark = read_mark(path)
        if mark is None:
            say(f"warning: checkpoint {path.name} is not whole; it is passed over", style="yellow")
            continue
        found.append((int(mark["step"]), path))
    return found


def read_mark(path: Path) -> dict[str, Any] | None:
    """Return the completion mark of a checkpoint, or None if there is none or a file is missing or has another size."""
    try:
        mark = json.loads((path / MARK).read_bytes())
        for name, size in mark["files"].items():
            if (path / name).stat().st_size != size:
                return None
    except (OSError, ValueError, KeyError, AttributeError):
        return None
    return dict(mark)


def save_checkpoint(engine: Any, folder: Path, step: int, facts: dict[str, Any], keep: int) -> Path:
    """Write the checkpoint of `step` and return its folder; every process calls this.

    Args:
        engine: the DeepSpeed engine.
        folder: where checkpoints stand.
        step: optimizer steps done.
        facts: what must hold when it is resumed (fingerprint of settings and data, tokens seen …).
        keep: how many checkpoints to keep; older ones go after this one is complete.

    Raises:
        DiskFullError: no space; earlier checkpoints stay.
    """
    import torch.distributed as dist

    final = step_folder(folder, step)
    temporary = folder / f".step-{step:08d}.tmp"
    first = dist.get_rank() == 0
    with disk_errors(final):
        if first:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
        dist.barrier()
        engine.save_checkpoint(str(temporary), tag=STATE, client_state={"hunmin": facts}, save_latest=False)
        dist.barrier()
        if first:
            files = {p.relative_to(temporary).as_posix(): p.stat().st_size for p in temporary.rglob("*") if p.is_file()}
            with atomic_write(temporary / MARK) as stream:
                json.dump({"step": step, "files": files, **facts}, stream, indent=1, sort_keys=True)
            publish_folder(temporary, final)
            for _, old in complete_checkpoints(folder)[:-keep]:
                shutil.rmtree(old)
    dist.barrier()
    return final


def load_latest(engine: Any, folder: Path, facts: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Load the newest whole checkpoint into the engine and return (its step, its mark): (0, {}) when there is none.

    Args:
        facts: what the checkpoint must have been made with; the keys compared are `fingerprint` and `world`.

    Raises:
        UserError: the checkpoint belongs to other settings, another corpus, or (at ZeRO > 0) another world size.
    """
    found = complete_checkpoints(folder)
    if not found:
        return 0, {}
    step, path = found[-1]
    mark = read_mark(path) or {}
    if mark.get("fingerprint") != facts["fingerprint"]:
        raise UserError(
            f"{path.name} was made with other settings or another corpus",
            "a run resumes with what it began with; else batches would repeat or be left out",
            f"restore the recipe and the corpus, or begin anew in another `out` folder (or move {folder} away)",
        )
    if mark.get("zero_stage") and mark.get("world") != facts["world"]:
        raise UserError(
            f"{path.name} was made by {mark['world']} processes, this run has {facts['world']}",
            f"at ZeRO stage {mark['zero_stage']} the optimizer state is split over the processes",
            f"set pretrain.processes={mark['world']}, or train with pretrain.zero_stage=0",
        )
    engine.load_checkpoint(str(path), tag=STATE)
    return step, mark


def remove_unfinished(folder: Path) -> None:
    """Remove temporary folders that a killed run left behind."""
    for path in folder.glob(".step-*.tmp"):
        shutil.rmtree(path, ignore_errors=True)
    if folder.is_dir():
        os.sync()
