"""The mean of the weights of several checkpoints of a run."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from common.errors import UserError
from pretrain.callbacks.checkpoint_metadata import WEIGHTS, complete_checkpoints, read_metadata
from pretrain.phases import values_at


def checkpoints_to_average(last: Path, count: int) -> dict[int, Path]:
    """Return step → folder of so many checkpoints of a run, in order, up to the last of them.

    Raises:
        UserError: there are fewer, or some are of another shape: another objective, length or RoPE base.
    """
    until = _metadata(last)["step"]
    known = {step: path for step, path in complete_checkpoints(last.parent) if step <= until}
    if len(known) < count:
        raise UserError(
            f"{last.parent} has {len(known)} checkpoints up to {last.name}, and {count} are to be averaged",
            "an average is of the last checkpoints that are there",
            f"average {len(known)} at most; in a new training raise pretrain.keep_last",
        )
    chosen = dict(list(known.items())[-count:])
    shapes = {step: _shape(path) for step, path in chosen.items()}
    other = {step: _differing(shape, shapes[until]) for step, shape in shapes.items() if shape != shapes[until]}
    if other:
        step = max(other)
        alike = sum(later > step for later in chosen)
        raise UserError(
            f"step {step} has another {', '.join(other[step])} than {last.name}",
            "checkpoints that are averaged are of one shape: model, objective and length of the samples",
            f"average {alike} checkpoints" if alike > 1 else "export the checkpoint without an average",
        )
    return chosen


def mean_weights(checkpoints: Collection[Path]) -> dict[str, torch.Tensor]:
    """Return the mean of the weights of checkpoints, added up in float64; of equal ones it is their bytes."""
    sums: dict[str, torch.Tensor] = {}
    for path in checkpoints:
        for name, weight in load_file(path / WEIGHTS).items():
            sums[name] = sums[name] + weight.double() if name in sums else weight.double()
    return {name: (total / len(checkpoints)).float() for name, total in sums.items()}


def _metadata(path: Path) -> dict[str, Any]:
    return read_metadata(path) or {}


def _shape(path: Path) -> dict[str, Any]:
    saved = _metadata(path)
    values = values_at(saved["settings"], saved["step"])
    config = {name: value for name, value in saved["config"].items() if name != "transformers_version"}
    return {**config, "objective": values["objective"], "max_seq_len": values["max_seq_len"]}


def _differing(shape: dict[str, Any], last: dict[str, Any]) -> list[str]:
    return sorted(name for name in shape.keys() | last.keys() if shape.get(name) != last.get(name))
