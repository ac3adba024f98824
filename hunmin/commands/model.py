"""`hunmin pretrain`, `export`, `card`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from common.errors import UserError
from common.progress import say, show
from hunmin.commands.run import AsJson, Overrides, RecipePath

Dtype = Literal["fp32", "bf16", "fp16"]
Language = Literal["en", "ko"]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("pretrain", epilog="Example: hunmin pretrain configs/quickstart.yaml pretrain.steps=500")(pretrain)
    app.command("card", epilog="Example: hunmin card runs/x --language ko")(card)
    app.command("export", epilog="Example: hunmin export runs/x/pretrain/checkpoints/step-00001000 --out model")(export)


def pretrain(
    recipe: RecipePath,
    overrides: Overrides = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin training again; what is there is moved aside.")
    ] = False,
) -> None:
    """Train the recipe's model on its token shards (the stages before it must be done); resumes.

    Started by torchrun, srun, mpirun or in the pods of a Kubernetes Job, it is one of the processes of the run.
    """
    from hunmin.hub.follow import following
    from hunmin.joint_training import train_together
    from hunmin.preflight import refuse_moved
    from hunmin.recipe import load_recipe
    from hunmin.run import require_done
    from hunmin.run import run as run_recipe
    from pretrain.parallel.world import world_info

    loaded = load_recipe(recipe, overrides or [], fetch=True, section="pretrain")
    refuse_moved(loaded, recipe, overrides or [])
    if world_info(os.environ).world > 1:
        train_together(loaded, recipe, restart)
        return
    require_done(loaded, "encode", recipe)
    with following(loaded, Path(loaded.out)):
        run_recipe(loaded, last="pretrain", restart="pretrain" if restart else None)


def export(
    checkpoint: Annotated[
        str, typer.Argument(metavar="CHECKPOINT|MODEL", help="A step-* folder, or the folder of an encoder.")
    ],
    out: Annotated[str | None, typer.Option("--out", help="Folder to write; graphs of a MODEL go into it.")] = None,
    dtype: Annotated[Dtype, typer.Option("--dtype", help="Of the weights.")] = "fp32",
    sentence_embeddings: Annotated[
        bool, typer.Option("--sentence-embeddings", help="Beside it what sentence-transformers loads: mean pooling.")
    ] = False,
    onnx: Annotated[bool, typer.Option("--onnx", help="Beside it an ONNX graph, checked (extra onnx).")] = False,
    int8: Annotated[
        bool, typer.Option("--int8", help="With MODEL --onnx: the encoder in 8 bits as well, checked.")
    ] = False,
    push_to_hub: Annotated[
        str | None, typer.Option("--push-to-hub", metavar="OWNER/NAME", help="Repository on the model hub.")
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="A repository that is made is seen by all.")] = False,
    language: Annotated[Language | None, typer.Option("--language", help="Of the card; default: the recipe's.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be pushed, and the card; nothing is kept or sent.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a checkpoint as a folder that transformers loads, checked; with --push-to-hub, upload it with its card.

    Of an encoder's folder, MODEL --onnx adds onnx/encoder.onnx to it, and --int8 onnx/encoder_qint8.onnx.
    """
    source = Path(checkpoint)
    if (model := (source / "config.json").is_file()) and onnx and not (out or push_to_hub):
        _export_graphs(source, int8, as_json)
        return
    if model or int8 or out is None:
        rule = "a checkpoint is exported with --out; a model's folder gets graphs with --onnx [--int8] alone"
        raise UserError(f"{checkpoint} is {'a' if model else 'no'} model's folder", rule, "see hunmin export --help")
    target = Path(out)
    if target.resolve() == Path.cwd():
        raise UserError(
            f"{out} is the folder that you are in",
            "an export takes its name when it is whole, in the place of an empty folder",
            "name a folder in it: --out model",
        )
    from hunmin.hub.publish import no_encoder

    run, fault = None, no_encoder(source)
    if push_to_hub:
        from hunmin.hub.publish import run_of
        from hunmin.hub.push import check_name, prepare

        check_name(push_to_hub)
        if fault:
            raise UserError(
                fault,
                "what is pushed is loaded as a masked language model",
                f"train on: pretrain.branch_from={checkpoint} pretrain.objective=mlm; then push that run's",
            )
        run = run_of(source)
        if run is None:
            raise UserError(
                f"{checkpoint} does not stand in a run folder",
                "the card is made of the run's facts",
                "push from RUN/pretrain/checkpoints/step-*; or export without --push-to-hub, and: "
                f"hf upload {push_to_hub} {out}",
            )
    elif dry_run or public or language:
        raise UserError(
            "--dry-run, --public and --language are of an upload", remedy="give --push-to-hub OWNER/NAME as well"
        )
    if onnx:
        from pretrain.export.onnx import refuse_onnx

        refuse_onnx(dtype)
    if dry_run and run and push_to_hub:
        from hunmin.hub.publish import show_export

        show_export(source, run, push_to_hub, not public, language, dtype, sentence_embeddings, onnx)
        return
    _refuse_other_content(source, target, dtype, sentence_embeddings, onnx)
    if push_to_hub:
        prepare(push_to_hub, not public)
    if not (target.is_dir() and any(target.iterdir())):
        from pretrain.export import export_checkpoint

        export_checkpoint(source, target, dtype, sentence_embeddings, onnx)
    url = None
    if push_to_hub and run:
        from hunmin.hub.publish import publish

        url = publish(target, run, push_to_hub, not public, language, checkpoint=source)
    if as_json:
        print(json.dumps({"checkpoint": str(source), "out": str(target), "dtype": dtype, "url": url}))
    else:
        say(f"{target}: written; AutoModelForMaskedLM.from_pretrained loads it", style="green")
        if fault:
            say(f"warning: {fault}; train on from it before it is used", style="yellow")
        if url:
            say(f"{url}: pushed", style="green")


def _export_graphs(model: Path, int8: bool, as_json: bool) -> None:
    """Add the graphs of an encoder to its folder and print size, speed and smallest cosine of each."""
    from embed.onnx import export_encoder
    from hunmin.instruct.plan import print_rows

    found = export_encoder(model, int8)
    print(json.dumps(found, indent=1)) if as_json else print_rows(
        [{"graph": name} | one for name, one in found.items()]
    )


def _refuse_other_content(source: Path, target: Path, dtype: Dtype, sentence_embeddings: bool, onnx: bool) -> None:
    """Refuse a folder that holds anything but this very export, as a command that was stopped at its upload leaves."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    from pretrain.export import is_export_of

    if not target.is_dir() or not is_export_of(target, source, dtype, sentence_embeddings, onnx):
        raise UserError(
            f"{target} is neither an empty folder nor this export",
            "an export replaces nothing",
            "give another --out",
        )
    say(f"{target} holds this export already")


def card(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run folder.")],
    language: Annotated[Language | None, typer.Option("--language", help="Default: the recipe's.")] = None,
) -> None:
    """Print the model card of a run, from its own facts."""
    from hunmin.hub.card import write_card
    from hunmin.hub.facts import read_facts

    facts = read_facts(Path(run))
    hub = facts.recipe.hub
    show(write_card(facts, hub.repository, language or hub.language))
