"""`hunmin embed …`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from common.errors import UserError
from common.progress import show
from hunmin.commands.run import AsJson, Overrides, RecipePath

app = typer.Typer(no_args_is_help=True, help="Sentence embeddings: data sets, tuning an encoder, scores by mteb.")


@app.command(epilog="Example: hunmin embed data configs/embed-small.yaml embed.sources='[klue]' embed.base=runs/x")
def data(recipe: RecipePath, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """Read and check the recipe's data sets: rows, texts that are cut, rows removed, licences, an example each."""
    from embed.base import read_base
    from embed.data import describe_sets, load_sets
    from hunmin.embed.recipe import load_embed_recipe
    from hunmin.embed.stages import base_of, settings_of
    from hunmin.instruct.plan import print_rows

    loaded = load_embed_recipe(recipe, overrides or [])
    settings = settings_of(loaded)
    _, tokenizer = read_base(base_of(loaded), settings)
    found = describe_sets(load_sets(settings), tokenizer, settings.max_seq_len)
    if as_json:
        print(json.dumps(found, ensure_ascii=False, indent=1))
        return
    names = ("set", "shape", "rows", "negatives", "weight", "licence", "texts", "cut")
    counted = [(", ".join(f"{n:,} {what}" for what, n in one["counts"].items() if n)) for one in found]
    rows = [{name: one[name] for name in names} | {"counts": told} for one, told in zip(found, counted, strict=True)]
    print_rows(rows)
    for one in found:
        show("\n".join([f"{one['set']}:", *(" → ".join(row) for row in one["examples"])]) + "\n")


@app.command(epilog="Example: hunmin embed train configs/embed-small.yaml embed.sources='[klue]' embed.base=runs/x")
def train(
    recipe: RecipePath,
    overrides: Overrides = None,
    restart: Annotated[bool, typer.Option("--restart", help="Begin again; move what is there aside.")] = False,
) -> None:
    """Tune the recipe's encoder on its data sets, and score it where the recipe says so; the same command resumes."""
    from hunmin.embed.recipe import load_embed_recipe
    from hunmin.recipe import Recipe
    from hunmin.run import require_done, run
    from pretrain.parallel.world import world_info

    if (world := world_info(os.environ).world) > 1:
        what = f"hunmin embed train in {world} processes of a launcher"
        raise UserError(what, "it starts its processes itself, on one machine", f"set embed.processes={world}")
    loaded = load_embed_recipe(recipe, overrides or [])
    if isinstance(loaded, Recipe):
        require_done(loaded, "export", recipe)
    run(loaded, last="embed", restart="embed" if restart else None)
    print_scores(loaded.out)


@app.command(epilog="Example: hunmin embed score runs/embed-small --data klue --out scores --task KLUE-STS")
def score(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Folder of sentence embeddings, a run, or hub name.")],
    out: Annotated[str, typer.Option("--out", help="Folder to write; the same command continues.")],
    data: Annotated[
        list[str] | None, typer.Option("--data", help="Folder with the authors' sets, or of TASK/ folders; repeatable.")
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", help="Task by mteb's name, repeatable; default: all.")
    ] = None,
    base: Annotated[str | None, typer.Option("--base", help="Encoder before it was tuned, for the table.")] = None,
    truncate: Annotated[int | None, typer.Option("--truncate", min=1, help="Entries of a vector to keep.")] = None,
    hub: Annotated[bool, typer.Option("--hub", help="Let mteb fetch tasks that have no files in --data.")] = False,
    large: Annotated[bool, typer.Option("--all", help="Score the two tasks of 1.5 million documents, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Score a model by mteb on local files, beside random weights, character n-grams and published rows."""
    from common.names import find
    from embed.score import score_models

    folder = Path(model) / "embed" / "model"
    folder = folder if folder.is_dir() else find(model, "model")
    before = find(base, "model") if base else None
    folders = [Path(one) for one in data or ()]
    found = score_models(folder, folders, Path(out), task or (), before, truncate, hub=hub, large=large)
    _print_table(found, as_json)


def print_scores(run: str, as_json: bool = False) -> None:
    """Print the table that the stage of a run has left, if it has scored, on stdout."""
    table = Path(run) / "embed" / "scores" / "table.json"
    if table.is_file():
        _print_table(json.loads(table.read_bytes()), as_json)


def _print_table(table: dict[str, object], as_json: bool) -> None:
    from embed.score import as_markdown

    show(json.dumps(table, ensure_ascii=False, indent=1) + "\n" if as_json else as_markdown(table))
