"""What `hunmin push` uploads of a run: a checkpoint, exported and checked, with its card."""

from __future__ import annotations

import tempfile
from pathlib import Path

from common.errors import HunminError, UserError
from common.progress import say
from common.settings import load_yaml
from common.stage_folders import folder_of, run_and_stage, work_folder_of
from hunmin.hub.card import Language
from hunmin.hub.facts import read_facts
from hunmin.hub.publish import publish, refuse_no_encoder, run_of
from hunmin.hub.push import check_name, prepare
from hunmin.pipeline.watch import training_folder
from hunmin.recipes.recipe import Recipe, load_recipe, refuse_instructions
from pretrain.callbacks.checkpoint_metadata import METADATA, checkpoints_by_size, damaged_files, last_checkpoint
from pretrain.export import Dtype, export_checkpoint


def checkpoint_in(folder: Path) -> tuple[Path, Path] | None:
    """Return the checkpoint that a folder stands for, and its run; of training that has not ended, say how far it is.

    Args:
        folder: a checkpoint in a run, a run or its `export` folder; the last two stand for the last checkpoint.

    Raises:
        UserError: the run has no checkpoint yet, or tunes a decoder.
        HunminError: the checkpoint is damaged.
    """
    if (folder / METADATA).is_file() and (run := run_of(folder)):
        if damaged := damaged_files(folder):
            raise HunminError(
                f"{folder / damaged[0]} is damaged or was changed", "a checkpoint is pushed as it was written",
                "restore the file from a copy, or name another checkpoint",
            )  # fmt: skip
        return folder, run
    above, stage = run_and_stage(folder)
    run = above if stage == "export" else folder
    if not (run / "recipe.yaml").is_file():
        return None
    refuse_instructions(load_yaml(run / "recipe.yaml"), run / "recipe.yaml")
    training = training_folder(run)
    if training is None:
        raise UserError(f"{run} has no finished checkpoint", fix=f"hunmin run {run / 'recipe.yaml'} --until pretrain")
    if training != work_folder_of(run, "pretrain"):
        return last_checkpoint(training / "checkpoints")[1], run
    checkpoints = checkpoints_by_size(training / "checkpoints")
    settings = load_recipe(run / "recipe.yaml").pretrain
    if not checkpoints:
        raise UserError(
            f"training of {run} has not saved a checkpoint yet",
            f"one is saved every {settings.checkpoint_every:,} steps and at the end, after step {settings.steps:,}",
            f"push once one is there; how far it is: hunmin report {run}",
        )
    step, checkpoint = checkpoints[-1]
    say(
        f"training of {run} has not ended: its newest checkpoint is step {step:,} of {settings.steps:,}; "
        "later steps and scores are not there yet",
        style="yellow",
    )
    return checkpoint, run


def average_of(folder: Path, checkpoint: Path, run: Path) -> int | None:
    """Return how many checkpoints are averaged for a folder that stands for a checkpoint; None of an unfinished run."""
    recipe = load_recipe(run / "recipe.yaml")
    ends = folder != checkpoint and checkpoint.name == f"step-{recipe.pretrain.steps:08d}"
    return recipe.export.average if ends else None


def publish_checkpoint(
    checkpoint: Path,
    run: Path,
    repository: str,
    private: bool = True,
    dtype: Dtype = "fp32",
    language: Language | None = None,
    dry_run: bool = False,
    sentence_embeddings: bool = False,
    onnx: bool = False,
    license: str | None = None,
    average: int | None = None,
) -> str | None:
    """Export a checkpoint, push it with its card and the run's scores, and return the repository's address.

    Args:
        checkpoint: a step-* folder in `run`.
        run: the run folder.
        repository: OWNER/NAME.
        private: of a repository that is created.
        dtype: of the weights.
        language: of the card; None takes the recipe's.
        dry_run: print what would be pushed and the card, and return None.
        sentence_embeddings, onnx, average: of `export_checkpoint`.
        license: of the model; None takes the recipe's.

    Raises:
        UserError: the name is wrong, or the checkpoint is not a masked language model.
        HunminError: as `hunmin.hub.publish.publish`.
    """
    check_name(repository)
    refuse_no_encoder(checkpoint)
    read_facts(run)  # refuses edited results before anything is exported or sent
    if not dry_run:
        prepare(repository, private)
        (run / "logs").mkdir(exist_ok=True)
    place = None if dry_run else run / "logs"  # the stage's own folder stays as its manifest says
    with tempfile.TemporaryDirectory(prefix="push-", dir=place) as folder:
        model = Path(folder) / "model"
        export_checkpoint(checkpoint, model, dtype, sentence_embeddings, onnx, average)
        return publish(model, run, repository, private, language, dry_run, checkpoint, license, average)


def publish_run(recipe: Recipe, repository: str) -> None:
    """Push a finished run's last checkpoint, with its scores, to the repository that the recipe names.

    Raises:
        HunminError: as `publish_checkpoint`.
    """
    hub, run = recipe.hub, Path(recipe.out)
    step, checkpoint = last_checkpoint(folder_of(run, "pretrain") / "checkpoints")
    url = publish_checkpoint(checkpoint, run, repository, hub.private, hub.dtype, average=recipe.export.average)
    say(f"{url}: step {step:,} pushed", style="green")
