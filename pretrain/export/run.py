"""The export stage: final weights → a folder for the model hub, checked against the training model."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from common.errors import HunminError
from pretrain.callbacks.checkpoint import complete_checkpoints
from pretrain.export.check import fixed_inputs
from pretrain.export.checkpoint import export_checkpoint
from pretrain.models.encoder import model_class
from pretrain.settings import PretrainSettings


def export_run(settings: PretrainSettings, training: Path, out: Path) -> dict[str, Any]:
    """Write the model folder of finished training and return counts.

    The newest checkpoint is exported anew and must give the logits of the weights that training left, bit for bit.

    Raises:
        HunminError: the export is not what training left.
    """
    model = out / ".export"
    step, checkpoint = complete_checkpoints(training / "checkpoints")[-1]
    export_checkpoint(checkpoint, model)
    reference = model_class(settings).from_pretrained(
        training / "model", local_files_only=True, trust_remote_code=False
    )
    difference = check_export(model, reference)
    for file in model.iterdir():
        file.replace(out / file.name)
    shutil.rmtree(model)
    return {"step": step, "parameters": reference.num_parameters(), "largest_logit_difference": difference}


@torch.no_grad()
def check_export(folder: Path, reference: PreTrainedModel) -> float:
    """Return the largest difference between the exported folder's logits and the reference model's, on fixed ids.

    Raises:
        HunminError: they are not equal bit for bit.
    """
    loaded = type(reference).from_pretrained(folder, local_files_only=True, trust_remote_code=False).eval()
    inputs = next(fixed_inputs(loaded))
    outputs = zip(loaded(**inputs).values(), reference.eval()(**inputs).values(), strict=True)
    difference = max((one - two).abs().max().item() for one, two in outputs)
    if difference != 0:
        raise HunminError(
            f"exported logits differ from the training model's by up to {difference:.3g}",
            "an export changes nothing",
            "report this with the recipe",
        )
    return difference
