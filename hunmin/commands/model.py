"""`hunmin pretrain`, `export`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from common.errors import EXIT_INTERRUPTED, UserError
from common.progress import say
from hunmin.commands.run import AsJson, Overrides, RecipePath


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("pretrain", epilog="Example: hunmin pretrain configs/quickstart.yaml pretrain.steps=500")(pretrain)
    app.command("export", epilog="Example: hunmin export runs/x/pretrain/checkpoints/step-00001000 --out model")(export)


def pretrain(recipe: RecipePath, overrides: Overrides = None) -> None:
    """Train the recipe's model on its token shards (the stages before it must be done); resumes.

    Started by torchrun, srun, mpirun or in the pods of a Kubernetes Job, it is one of the processes of the run.
    """
    from hunmin.joint_training import train_together
    from hunmin.recipe import load_recipe
    from hunmin.run import require_done
    from hunmin.run import run as run_recipe
    from hunmin.stages import Interrupted
    from pretrain.world import world_info

    loaded = load_recipe(recipe, overrides or [])
    try:
        if world_info(os.environ).world > 1:
            train_together(loaded, recipe)
        else:
            require_done(loaded, "encode", recipe)
            run_recipe(loaded, last="pretrain")
    except Interrupted:
        say("stopped: the state is saved; the same command goes on from there", style="yellow")
        raise typer.Exit(EXIT_INTERRUPTED) from None


def export(
    checkpoint: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="A step-* folder of a run.")],
    out: Annotated[str, typer.Option("--out", help="Folder to write.")],
    push_to_hub: Annotated[str | None, typer.Option("--push-to-hub", help="Repository on the model hub.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a checkpoint as a folder that transformers loads."""
    from pretrain.export import export_checkpoint

    if push_to_hub:
        raise UserError(
            "--push-to-hub is not available yet",
            "this version exports to a folder",
            f"hf upload {push_to_hub} {out}, after exporting without the option",
        )
    source, target = Path(checkpoint), Path(out)
    if target.exists() and any(target.iterdir()):
        raise UserError(f"{out} is not empty", "an export replaces nothing", "give another --out")
    run = source.parent.parent.parent
    job = source.parent.parent / "logs" / "job.json"
    if not job.exists():
        raise UserError(
            f"{checkpoint} does not stand in a run folder",
            "a checkpoint is exported from RUN/pretrain/checkpoints/step-*, where its settings stand",
            "give the path of a checkpoint inside its run",
        )
    from pretrain.settings import PretrainSettings

    settings = PretrainSettings.model_validate(json.loads(job.read_bytes())["settings"])
    export_checkpoint(source, settings, run / "tokens", run / "tokenizer", target)
    if as_json:
        print(json.dumps({"checkpoint": str(source), "out": str(target)}))
    else:
        say(f"{target}: written; AutoModelForMaskedLM.from_pretrained loads it", style="green")
