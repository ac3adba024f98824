"""Checkpoints: a folder a step, written under a temporary name and renamed once durable; a mark says it is whole."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common.errors import HunminError, UserError
from common.files import atomic_write, disk_errors, publish_folder, xxh3_file
from common.manifest import read_manifest
from common.progress import say
from common.settings import changed_keys, settings_hash

MARK = "complete.json"
STATE = "state"
WEIGHTS = "weights.safetensors"
"""At ZeRO stage 3: the whole weights."""


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
        for name, (size, _) in mark["files"].items():
            if (path / name).stat().st_size != size:
                return None
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return dict(mark)


def is_sound(path: Path, mark: dict[str, Any]) -> bool:
    """Return whether the files of a checkpoint hold what its mark says: they are read for it, all of them."""
    try:
        return all(xxh3_file(path / name) == content for name, (_, content) in mark["files"].items())
    except OSError:  # a bad sector, say
        return False


def fingerprint(stated: dict[str, Any], tokens: Path) -> str:
    """Return what identifies a run's course: every setting that matters, and the corpus.

    Args:
        stated: the settings, see `dump_settings`.
        tokens: token folder.
    """
    manifest = read_manifest(tokens)
    data = manifest.fingerprint if manifest else settings_hash(json.loads((tokens / "tokens.json").read_bytes()))
    return settings_hash({"settings": stated, "tokens": data})


def save_checkpoint(
    engine: Any, folder: Path, step: int, facts: dict[str, Any], keep_last: int, keep_every: int | None = None
) -> Path:
    """Write the checkpoint of `step` and return its folder; every process calls this.

    Args:
        engine: the DeepSpeed engine.
        folder: where checkpoints stand.
        step: optimizer steps done.
        facts: what must hold when it is resumed (fingerprint of settings and data, tokens seen …).
        keep_last: how many checkpoints to keep; older ones go after this one is complete.
        keep_every: steps of which every multiple's checkpoint stays nevertheless.

    Raises:
        DiskFullError: no space; earlier checkpoints stay.
    """
    import torch.distributed as dist
    from safetensors.torch import save_file

    from pretrain.engine import whole_weights

    final = step_folder(folder, step)
    temporary = folder / f".step-{step:08d}.tmp"
    first = dist.get_rank() == 0
    with disk_errors(final), library_disk_errors(final):
        if first:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
        dist.barrier()
        if facts["zero_stage"] == 3:  # of which DeepSpeed writes each process's part alone
            weights = whole_weights(engine)
            if first:
                save_file({name: tensor.clone() for name, tensor in weights.items()}, temporary / WEIGHTS)
        state = {"hunmin": facts, "universal_checkpoint_info": {"universal_checkpoint_version": 0.2}}
        engine.save_checkpoint(str(temporary), tag=STATE, client_state=state, save_latest=False)
        dist.barrier()
        if first:
            files = {
                p.relative_to(temporary).as_posix(): (p.stat().st_size, xxh3_file(p))
                for p in temporary.rglob("*")
                if p.is_file()
            }
            with atomic_write(temporary / MARK) as stream:
                json.dump({"step": step, "files": files, **facts}, stream, indent=1, sort_keys=True)
            publish_folder(temporary, final)
            # those of later steps are damaged ones that this run was resumed before: they must not count
            upto = [(done, path) for done, path in complete_checkpoints(folder) if done <= step]
            for done, path in upto[:-keep_last]:
                if not keep_every or done % keep_every:
                    leaving = path.with_name(f".{path.name}.old")  # half removed it would look like a damaged one
                    path.rename(leaving)
                    shutil.rmtree(leaving)
    dist.barrier()
    return final


@contextmanager
def library_disk_errors(path: Path) -> Iterator[None]:
    """Turn what torch and safetensors raise when a write fails into the operating system's error."""
    from safetensors import SafetensorError

    try:
        yield
    except (RuntimeError, SafetensorError) as error:
        text = str(error)
        if any(sign in text for sign in ("unexpected pos", "No space left", "os error 28", "os error 122")):
            raise OSError(errno.ENOSPC, "no space left", str(path)) from None
        raise


def latest_checkpoint(folder: Path, facts: dict[str, Any]) -> tuple[Path | None, dict[str, Any]]:
    """Return the newest checkpoint that is whole and sound, and its mark: (None, {}) when there is no checkpoint.

    The first process reads it through and tells the others.

    Args:
        folder: where checkpoints stand.
        facts: what the checkpoint must have been made with; `fingerprint`, `zero_stage` and `world` are compared, and
            `settings` tell what has changed.

    Raises:
        UserError: the checkpoint belongs to other settings or another corpus, or (at ZeRO 3) another world size; or
            all that there are are damaged.
    """
    import torch.distributed as dist

    chosen: list[str | None] = [None]
    if not dist.is_initialized() or dist.get_rank() == 0:
        for _, path in reversed(complete_checkpoints(folder)):
            if (mark := read_mark(path)) and is_sound(path, mark):
                chosen = [path.name]
                break
            say(f"warning: checkpoint {path.name} is damaged; it is passed over", style="yellow")
        if chosen == [None] and any(folder.glob("step-*")):
            chosen = [""]
    if dist.is_initialized():
        dist.broadcast_object_list(chosen)
    if chosen[0] is None:
        return None, {}
    if not chosen[0]:
        raise UserError(
            f"none of the checkpoints in {folder} is whole",
            "a run that has been trained does not begin anew unasked",
            f"restore one of them from a copy; to begin anew, move {folder} away",
        )
    path = folder / chosen[0]
    mark = read_mark(path) or {}
    if mark.get("fingerprint") != facts["fingerprint"]:
        changed = changed_keys(mark.get("settings", {}), facts["settings"])
        raise UserError(
            f"{path.name} was made with other settings or another corpus: {', '.join(changed) or 'the corpus'}",
            "a run resumes with what it began with; else batches would repeat or be left out",
            f"restore the recipe and the corpus, or begin anew in another `out` folder (or move {folder} away)",
        )
    if mark.get("zero_stage") == 3 and mark.get("world") != facts["world"]:
        raise UserError(
            f"{path.name} was made by {mark['world']} processes, this run has {facts['world']}",
            "at ZeRO stage 3 the state is split over the processes; stages 0 to 2 take any number",
            f"go on with {mark['world']} processes",
        )
    return path, mark


def must_reshard(mark: dict[str, Any], world: int) -> bool:
    """Return whether a checkpoint's optimizer state is split over another number of processes than the run has."""
    return bool(mark) and mark["zero_stage"] in (1, 2) and mark["world"] != world


def universal_folder(path: Path) -> Path:
    """Return the folder beside a checkpoint that `reshard` writes."""
    return path.with_name(f".{path.name}.universal")


def reshard(path: Path) -> None:
    """Write a checkpoint's state so that any number of processes can load it; one process calls this.

    DeepSpeed's universal checkpoint: a file for each weight and each moment of the optimizer.

    Raises:
        HunminError: DeepSpeed's converter failed.
    """
    folder = universal_folder(path)
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "deepspeed.checkpoint.ds_to_universal", "--inject_missing_state"]
    command += ["--input_folder", str(path / STATE), "--output_folder", str(folder / STATE)]
    # with the launcher's variables it would look for the other processes
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise HunminError(
            f"the state of {path.name} could not be put together for another number of processes: {last}",
            "DeepSpeed's ds_to_universal does this",
            f"go on with {(read_mark(path) or {}).get('world')} processes",
        )


def remove_unfinished(folder: Path) -> None:
    """Remove temporary folders that a killed run left behind."""
    for ending in ("tmp", "old", "universal"):
        for path in folder.glob(f".step-*.{ending}"):
            shutil.rmtree(path, ignore_errors=True)
    if folder.is_dir():
        os.sync()
