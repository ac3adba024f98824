"""`hunmin push`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from common.errors import UserError
from common.progress import say
from hunmin.commands.model import CardLanguage, Dtype, Public


def register(app: typer.Typer) -> None:
    app.command("push", epilog="Example: hunmin push runs/x OWNER/NAME --dry-run")(push)


def push(
    path: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|TOKENIZER|RUN",
            help="Folder: run (its last checkpoint), checkpoint, export, tokenizer, fine-tuned model, or embedder.",
        ),
    ],
    repository: Annotated[
        str | None,
        typer.Argument(metavar="OWNER/NAME", help="Repository on the model hub; default: the run's hub.repository."),
    ] = None,
    public: Public = False,
    dtype: Annotated[Dtype, typer.Option("--dtype", help="Weight precision of a run or checkpoint.")] = "fp32",
    language: CardLanguage = None,
    license: Annotated[
        str | None,
        typer.Option(
            "--license", help="Licence by the hub's name (cc-by-sa-4.0) or other:NAME; default: the recipe's."
        ),
    ] = None,
    scores: Annotated[
        str | None,
        typer.Option(
            "--scores",
            help="Folder of an embedder's scores (default: MODEL/../scores); of a fine-tuned model the results of "
            "another model, to show beside its own.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the files and the card; upload nothing.")] = False,
) -> None:
    """Upload a model, tokenizer or run to the model hub with its card; files are scanned for secrets first."""
    from common.settings import load_yaml
    from common.stage_folders import of_run_or_itself, run_and_stage
    from hunmin.hub.licenses import check_license
    from hunmin.hub.publish import publish_finetuned, publish_tokenizer, refuse_damaged_model
    from hunmin.hub.publish_run import average_of, checkpoint_in, publish_checkpoint
    from hunmin.recipes.recipe import load_recipe
    from klue.saved import FACTS

    folder = Path(path)
    if not folder.is_dir():
        raise UserError(f"{path} is not a folder", fix="name a run, checkpoint, tokenizer or model folder")
    if license is not None:
        check_license(license)
    of_run = checkpoint_in(folder)
    name = repository or (load_recipe(of_run[1] / "recipe.yaml").hub.repository if of_run else None)
    if name is None:
        raise UserError(f"{path} has no repository", fix=f"name one: hunmin push {path} OWNER/NAME")
    embeds = not of_run and (folder / "modules.json").is_file()
    is_finetuned = not (of_run or embeds) and (folder / FACTS).is_file()
    if scores and not (embeds or is_finetuned):
        raise UserError(f"--scores {scores}", "it names scores of an embedder or classifier", "leave it out")
    if language == "ko" and not (of_run or embeds or is_finetuned) and (folder / "tokenizer.json").is_file():
        raise UserError(f"--language {language}", "this kind of card is in English alone", "leave it out")
    if not of_run:
        refuse_damaged_model(folder)
    if of_run:
        average = average_of(folder, *of_run)
        url = publish_checkpoint(*of_run, name, not public, dtype, language, dry_run, license=license, average=average)
    elif embeds:
        from hunmin.hub.embeddings import publish_embeddings

        beside = Path(scores) if scores else folder.resolve().parent / "scores"
        table = beside if scores or beside.is_dir() else None
        own = (
            run_and_stage(folder.resolve().parent)[0] / "recipe.yaml"
        )  # of a whole run, which says it for all of its cards
        stated = (load_yaml(own).get("hub") or {}).get("language") if own.is_file() else None
        url = publish_embeddings(folder, name, table, not public, language or stated or "en", dry_run, license)
    elif is_finetuned:
        other = of_run_or_itself(Path(scores), "klue") if scores else None
        url = publish_finetuned(folder, name, not public, dry_run, license, other, language or "en")
    elif (folder / "tokenizer.json").is_file() and not (folder / "config.json").is_file():
        url = publish_tokenizer(folder, name, not public, dry_run, license)
    else:
        raise UserError(
            f"{path} is not a run, checkpoint, tokenizer or fine-tuned model or embedder of Hunmin",
            "a card is made from the facts that Hunmin saves beside them",
            f"upload the folder without a card: hf upload {name} {path}",
        )
    if url:
        say(f"{url}: pushed", style="green")
