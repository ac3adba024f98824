"""The export stage: final weights → a folder for the model hub, checked against the training model."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from common.errors import HunminError
from common.files import xxh3_file
from pretrain.callbacks.checkpoint_metadata import last_checkpoint
from pretrain.export.checkpoint import checkpoints_to_average, export_checkpoint


def export_run(training: Path, out: Path, average: int | None = None) -> dict[str, Any]:
    """Write the model folder of finished training and return counts.

    The newest checkpoint is exported anew; its weights must be those that training left, byte for byte, or with
    `average` are the mean of so many of the last ones.

    Raises:
        HunminError: the last checkpoint is damaged, or the export is not what training left.
    """
    folder = out / ".export"
    step, checkpoint = last_checkpoint(training / "checkpoints")
    model = export_checkpoint(checkpoint, folder, average=average)
    exported, trained = (xxh3_file(path / "model.safetensors") for path in (folder, training / "model"))
    if exported != trained and average is None:
        raise HunminError(
            f"the weights exported from {checkpoint.name} are not those that training left in {training / 'model'}",
            "an export changes nothing",
            "report this with the recipe",
        )
    for file in folder.iterdir():
        file.replace(out / file.name)
    shutil.rmtree(folder)
    averaged = {"averaged": [*checkpoints_to_average(checkpoint, average)]} if average else {}
    return {"step": step, "parameters": model.num_parameters(), **averaged}
