"""The export stage: final weights → a folder for the model hub, checked against the training model."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from common.files import atomic_write
from hunmin.hub.scrub import public_recipe
from hunmin.recipe import Recipe


def export_run(recipe: Recipe, run: Path, out: Path) -> dict[str, Any]:
    """Write the run's model folder into `out` and return counts.

    The newest checkpoint is exported anew and must give the logits of the weights that training left, bit for bit.
    """
    from pretrain.checkpoint import complete_checkpoints
    from pretrain.export import check_export, export_checkpoint
    from pretrain.model import model_class

    trained = run / "pretrain" / "model"
    model = out / ".export"
    step, checkpoint = complete_checkpoints(run / "pretrain" / "checkpoints")[-1]
    export_checkpoint(checkpoint, model)
    reference = model_class(recipe.pretrain).from_pretrained(trained, local_files_only=True, trust_remote_code=False)
    difference = check_export(model, reference)
    for file in model.iterdir():
        file.replace(out / file.name)
    shutil.rmtree(model)
    with atomic_write(out / "hunmin-recipe.yaml") as stream:  # as it may be seen: people upload this folder as it is
        stream.write(public_recipe(recipe))
    return {"step": step, "parameters": reference.num_parameters(), "largest_logit_difference": difference}
