"""`hunmin pretrain`, `export`, `card`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from common.errors import UserError
from common.progress import print_json, say, show
from hunmin.commands.options import AsJson, Overrides, Overwrite, RecipePath

Dtype = Literal["fp32", "bf16", "fp16"]
Language = Literal["en", "ko"]
Public = Annotated[bool, typer.Option("--public", help="Create the repository as public (default: private).")]
CardLanguage = Annotated[
    Language | None, typer.Option("--language", help="Language of the card; default: the recipe's.")
]


def register(app: typer.Typer) -> None:
    app.command("pretrain", epilog="Example: hunmin pretrain configs/quickstart.yaml")(pretrain)
    app.command("card", epilog="Example: hunmin card runs/x --language ko")(card)
    app.command("export", epilog="Example: hunmin export runs/x/pretrain/checkpoints/step-00001000 --out model")(export)


def pretrain(
    recipe: RecipePath,
    overrides: Overrides = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Restart training from scratch; the earlier output is moved aside.")
    ] = False,
) -> None:
    """Pretrain the recipe's model on its token shards; resumes. The earlier stages must be finished.

    Under torchrun, srun, mpirun or in the pods of a Kubernetes Job, each process joins the same training.
    """
    from hunmin.hub.follow import following
    from hunmin.pipeline.joint_training import train_together
    from hunmin.pipeline.run import require_done
    from hunmin.pipeline.run import run as run_recipe
    from hunmin.recipes.preflight import refuse_moved
    from hunmin.recipes.recipe import load_recipe
    from pretrain.parallel.world import world_info

    loaded = load_recipe(recipe, overrides or [], fetch=True, section="pretrain")
    refuse_moved(loaded, recipe, overrides or [])
    if world_info(os.environ).world > 1:
        train_together(loaded, [recipe, *(overrides or [])], restart)
        return
    require_done(loaded, "encode", [recipe, *(overrides or [])])
    with following(loaded, Path(loaded.out)):
        run_recipe(loaded, last="pretrain", restart="pretrain" if restart else None)


def export(
    checkpoint: Annotated[
        str, typer.Argument(metavar="CHECKPOINT|MODEL", help="Checkpoint folder: step-*; or an encoder's folder.")
    ],
    out: Annotated[
        str | None, typer.Option("--out", help="Output folder; without it the graphs of a MODEL go into its folder.")
    ] = None,
    dtype: Annotated[Dtype, typer.Option("--dtype", help="Weight precision.")] = "fp32",
    sentence_embeddings: Annotated[
        bool, typer.Option("--sentence-embeddings", help="Add the files of sentence-transformers, with mean pooling.")
    ] = False,
    onnx: Annotated[
        bool, typer.Option("--onnx", help="Add an ONNX graph, checked against the model; needs the extra onnx.")
    ] = False,
    int8: Annotated[
        bool,
        typer.Option(
            "--int8", help="With --onnx, of a MODEL: add a graph with 8-bit weights, checked against the model."
        ),
    ] = False,
    average: Annotated[
        int | None,
        typer.Option("--average", min=2, metavar="K", help="Export the mean of the last K checkpoints up to this one."),
    ] = None,
    texts: Annotated[
        str | None,
        typer.Option("--texts", help="With --onnx, of a fine-tuned MODEL: file of texts to compare labels on."),
    ] = None,
    gguf: Annotated[
        bool,
        typer.Option(
            "--gguf", help="Add a GGUF file for llama.cpp to a MODEL of sentence embeddings; needs the extra gguf."
        ),
    ] = False,
    push_to_hub: Annotated[
        str | None, typer.Option("--push-to-hub", metavar="OWNER/NAME", help="Repository on the model hub.")
    ] = None,
    public: Public = False,
    language: CardLanguage = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the files and the card; write and upload nothing.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Export a checkpoint as a checked transformers model; with --push-to-hub, upload it with its card.

    Of an encoder's folder, MODEL --onnx adds onnx/encoder.onnx to it, and --int8 onnx/encoder_qint8.onnx; --gguf adds
    model-f32.gguf. Of a fine-tuned classifier or tagger they are onnx/model.onnx and onnx/model_int8.onnx.
    """
    source = Path(checkpoint)
    others = sentence_embeddings or public or language or dry_run or average or dtype != "fp32"
    served = (onnx or gguf) and (onnx or not int8)
    if (model := (source / "config.json").is_file()) and served and not (out or push_to_hub or others):
        _export_served(source, onnx, int8, gguf, overwrite, as_json, texts)
        return
    if model or int8 or gguf or overwrite or texts or out is None:
        rule = "a checkpoint is exported with --out, which replaces nothing; a model's folder gets files with --onnx "
        rule += "[--int8] [--texts] and --gguf alone, and --overwrite replaces these"
        raise UserError(f"{checkpoint} is {'a' if model else 'no'} model's folder", rule, "see hunmin export --help")
    target = Path(out)
    from hunmin.hub.publish import no_encoder, publish, refuse_no_encoder, run_of

    run = None
    if push_to_hub:
        from hunmin.hub.push import check_name, prepare

        check_name(push_to_hub)
        refuse_no_encoder(source)
        run = run_of(source)
        if run is None:
            raise UserError(
                f"{checkpoint} is not in a run folder",
                "the card is made from the run's facts",
                "push from RUN/pretrain/checkpoints/step-*; or export without --push-to-hub, and: "
                f"hf upload {push_to_hub} {out}",
            )
    elif dry_run or public or language:
        raise UserError("--dry-run, --public and --language need an upload", fix="add --push-to-hub OWNER/NAME")
    if onnx:
        from pretrain.export.onnx import refuse_onnx

        refuse_onnx(dtype)
    if dry_run and run and push_to_hub:
        from hunmin.hub.publish_run import publish_checkpoint

        options = (dtype, language, True, sentence_embeddings, onnx)
        publish_checkpoint(source, run, push_to_hub, not public, *options, average=average)
        return
    from common.destinations import new_folder, refuse_folder
    from pretrain.export import export_checkpoint, is_export_of

    there = not target.is_symlink() and target.is_dir() and any(target.iterdir())
    # a command stopped at its upload
    if there and is_export_of(target, source, dtype, sentence_embeddings, onnx, average):
        say(f"{target} already holds this export")
    else:
        refuse_folder(target)
        there = False
    if push_to_hub:
        prepare(push_to_hub, not public)
    if not there:
        with new_folder(target) as folder:
            export_checkpoint(source, folder, dtype, sentence_embeddings, onnx, average)
    url = None
    if push_to_hub and run:
        url = publish(target, run, push_to_hub, not public, language, checkpoint=source, average=average)
    if as_json:
        made = {"checkpoint": str(source), "average": average, "out": str(target), "dtype": dtype, "url": url}
        print_json(made, indent=None)
    else:
        say(f"{target}: written. Load it with AutoModelForMaskedLM.from_pretrained", style="green")
        if fault := no_encoder(source):
            say(f"warning: {fault}; continue training before you use it", style="yellow")
        if url:
            say(f"{url}: pushed", style="green")


def _export_served(
    model: Path, onnx: bool, int8: bool, gguf: bool, overwrite: bool, as_json: bool, texts: str | None
) -> None:
    from hunmin.hub.publish import refuse_damaged_model
    from hunmin.instruct.plan import print_rows

    is_finetuned = (model / "klue.json").is_file()
    if texts and not (onnx and is_finetuned):
        raise UserError(f"--texts {texts}", "labels are compared on them, of a fine-tuned model", "leave it out")
    refuse_damaged_model(model)
    files: dict[str, dict[str, Any]] = {}
    if gguf:
        from embed.gguf import export_gguf

        files["gguf"] = {"bytes": export_gguf(model, overwrite).stat().st_size}
    if onnx and is_finetuned:
        from klue.graphs import export_finetuned

        files |= export_finetuned(model, int8, overwrite, Path(texts) if texts else None)
    elif onnx:
        from embed.onnx import export_encoder

        files |= export_encoder(model, int8, overwrite)
    columns = [*dict.fromkeys(key for facts in files.values() for key in facts if key != "sha256")]
    print_json(files) if as_json else print_rows(
        [{"file": name} | {column: facts.get(column, "-") for column in columns} for name, facts in files.items()]
    )


def card(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run folder.")],
    language: CardLanguage = None,
) -> None:
    """Print the model card of a run."""
    from hunmin.hub.card import write_card
    from hunmin.hub.facts import read_facts

    facts = read_facts(Path(run))
    hub = facts.recipe.hub
    show(write_card(facts, hub.repository, language or hub.language))
