"""Checkpoints: a folder a step, written under a temporary name and renamed when durable, its metadata last.

A checkpoint holds the full weights and the full optimizer state, however they were sharded, so a run can resume from it
with any number of processes, any ZeRO stage and any engine. The model's configuration is in its metadata and the
vocabulary beside it, so an export needs nothing else. The first process gathers and writes it; the metadata lists its
files, which are never looked for.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from common.errors import HunminError
from common.files import disk_errors, follow_umask, publish_folder, xxh3_file
from pretrain.callbacks.checkpoint_metadata import (
    OPTIMIZER,
    WEIGHTS,
    checkpoints_by_size,
    damaged_files,
    step_folder,
    write_metadata,
)
from pretrain.optim.optimizer import OptimizerState
from pretrain.parallel.engine import Engine


def save_checkpoint(
    engine: Engine,
    folder: Path,
    step: int,
    metadata: dict[str, Any],
    keep_last: int,
    keep_every: int | None = None,
    beside: Sequence[Path] = (),
) -> Path:
    """Write the checkpoint of `step` and return its folder; every process calls this, and only the first one writes.

    Raises:
        DiskFullError: no space; earlier checkpoints stay.
    """
    final = step_folder(folder, step)
    weights, state = engine.weights(), engine.optimizer_state()
    if not engine.first:
        return final
    temporary = folder / f".step-{step:08d}.tmp"
    tensors = {f"{moment}/{name}": x for moment, values in state.moments.items() for name, x in values.items()}
    with disk_errors(final), library_disk_errors(final):
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        save_file(weights, temporary / WEIGHTS)
        save_file({**tensors, "updates": torch.tensor(state.steps)}, temporary / OPTIMIZER)
        follow_umask(temporary / WEIGHTS, temporary / OPTIMIZER)
        for path in beside:
            shutil.copyfile(path, temporary / path.name)
        names = (WEIGHTS, OPTIMIZER, *(path.name for path in beside))
        files = {name: ((temporary / name).stat().st_size, xxh3_file(temporary / name)) for name in names}
        write_metadata(temporary, {"step": step, "files": files, **metadata})
        publish_folder(temporary, final, replace=final.exists() and not damaged_files(final))
        for done, path in checkpoints_by_size(folder)[:-keep_last]:
            if not keep_every or done % keep_every:
                leaving = path.with_name(f".{path.name}.old")  # half removed it would look like a damaged one
                path.rename(leaving)
                shutil.rmtree(leaving)
    return final


def load_weights(checkpoint: Path, hf_model: torch.nn.Module) -> None:
    """Put the weights of a checkpoint into a model of transformers; see `put_weights`."""
    put_weights(load_file(checkpoint / WEIGHTS), hf_model, str(checkpoint))


def put_weights(weights: dict[str, torch.Tensor], hf_model: torch.nn.Module, source: str) -> None:
    """Put weights into a model of transformers, by its names, each once: tied ones under their first name.

    Raises:
        HunminError: they are not those of this model.
    """
    parameters = dict(hf_model.named_parameters())
    missing = sorted(parameters.keys() - weights.keys())
    unexpected = sorted(weights.keys() - parameters.keys())
    shapes = [name for name in parameters.keys() & weights.keys() if parameters[name].shape != weights[name].shape]
    if missing or unexpected or shapes:
        raise HunminError(
            f"{source}: weights missing {missing[:3]}, unexpected {unexpected[:3]}, of another shape {shapes[:3]}",
            "a checkpoint holds just the weights of its configuration",
            "use the recipe that it was trained with",
        )
    with torch.no_grad():
        for name, weight in parameters.items():
            weight.copy_(weights[name])


def load_optimizer(checkpoint: Path) -> OptimizerState:
    """Return the optimizer's state of a checkpoint, gathered from all shards."""
    tensors = load_file(checkpoint / OPTIMIZER)
    updates = int(tensors.pop("updates"))
    moments: dict[str, dict[str, torch.Tensor]] = {}
    for key, value in tensors.items():
        moment, _, name = key.partition("/")
        moments.setdefault(moment, {})[name] = value
    return OptimizerState(updates, moments)


@contextmanager
def library_disk_errors(path: Path) -> Iterator[None]:
    """Turn what torch and safetensors raise when a write fails into the operating system's error."""
    try:
        yield
    except (RuntimeError, SafetensorError) as error:
        text = str(error)
        signs = ("unexpected pos", "No space left", "os error 28", "os error 122", "os error 27")
        if any(sign in text for sign in signs):
            raise OSError(errno.ENOSPC, "no space left", str(path)) from None
        raise
