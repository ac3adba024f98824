"""`hunmin init`, `recipes`: a recipe to start from."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from common.errors import UserError
from common.progress import console, duration, print_json, say
from hunmin import completion
from hunmin.commands.options import AsJson
from hunmin.recipes.builtin import Size, builtin_recipes, summary


def register(app: typer.Typer) -> None:
    app.command(
        "init", epilog="Example: hunmin init --text 'texts/*.jsonl' --labelled complaints.csv --label category"
    )(init)
    app.command("recipes", epilog="Example: hunmin recipes --copy klue-roberta-base")(recipes)


def init(
    more: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]...", help="More of your text, as a glob of the shell gives it."),
    ] = None,
    out: Annotated[str, typer.Option("--out", help="Recipe file to write.")] = "recipe.yaml",
    text: Annotated[
        list[str] | None,
        typer.Option("--text", help="Files, folder, glob or URL of your text; repeatable. Asked for on a terminal."),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the run; default: the file's name.")] = None,
    size: Annotated[
        Size,
        typer.Option(
            "--size",
            help="small: an hour of pretraining on two CPU cores, and with --klue about as long to score the model. "
            "base: KLUE-RoBERTa-base, for GPUs.",
        ),
    ] = "small",
    klue: Annotated[
        str | None, typer.Option("--klue", help="Folder with the files of KLUE; default: the model is not scored.")
    ] = None,
    labelled: Annotated[
        str | None,
        typer.Option("--labelled", help="Labelled examples (.csv, .jsonl …): your own task, to score the model on."),
    ] = None,
    label: Annotated[
        str, typer.Option("--label", help="With --labelled: column of the label; its texts are found.")
    ] = "label",
    task_file: Annotated[
        list[str] | None,
        typer.Option("--task-file", help="YAML file of your own task, of any kind (docs/own-task.md); repeatable."),
    ] = None,
) -> None:
    """Write a commented recipe for your own text; an existing file is never overwritten."""
    from common.destinations import OutputFile
    from hunmin.commands.klue import own_tasks
    from hunmin.recipes.labelled import labelled_task
    from hunmin.recipes.new import new_recipe

    file = OutputFile(Path(out))
    text = [*(text or []), *(more or [])]
    if not text:
        if not sys.stdin.isatty():
            raise UserError("no text is named", fix="hunmin init --text 'texts/*.jsonl'")
        text = [typer.prompt("Your text (files, folder, glob or URL)", err=True)]
    own = own_tasks(task_file or [], None, None, None)
    if labelled:
        own.append(labelled_task(labelled, label, _ask_columns))
    for entry in new_recipe(file, text, name or file.path.stem, size, klue, _ask_columns, own):
        say(entry, style="yellow" if entry.startswith("warning: ") else "")
    _say_hours(out)
    say(f"{out}: written. Check it: hunmin run {shlex.quote(out)} --dry-run", style="green")


def _say_hours(out: str) -> None:
    from hunmin.estimates.cost import cost_plan
    from hunmin.pipeline.stages import stages_of
    from hunmin.recipes.recipe import load_recipe

    recipe = load_recipe(out)
    try:
        plan = cost_plan(recipe)
    except UserError:  # told by the run
        return
    seconds = {stage.name: plan["stage_seconds"][stage.name] for stage in stages_of(recipe)}
    known = [took for took in seconds.values() if took is not None]
    unknown = [name for name, took in seconds.items() if took is None]
    left_out = f", without {', '.join(unknown)} (unknown)" if unknown else ""
    say(f"on this machine the run takes about {duration(sum(known))}{left_out}; of other devices: hunmin plan")


def _ask_columns(path: str, columns: Sequence[str]) -> list[str]:
    """Return the columns with text of a file that shows none: asked for on a terminal."""
    problem = f"{path} shows no column with Korean text; its columns are {', '.join(columns)}"
    if not sys.stdin.isatty():
        say(f"warning: {problem}: set its text_field in the recipe", style="yellow")
        return []
    say(problem)
    names = typer.prompt("Columns with the text, separated by commas", err=True, default=columns[0]).split(",")
    return [name.strip() for name in names if name.strip()]


def recipes(
    copy: Annotated[
        str | None,
        typer.Option("--copy", metavar="NAME", help="Recipe to copy.", autocompletion=completion.builtin),
    ] = None,
    out: Annotated[str | None, typer.Option("--out", help="With --copy: file to write; default: NAME.yaml.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the built-in recipes, or copy one to change it."""
    known = builtin_recipes()
    if out and copy is None:
        raise UserError(f"--out {out} without --copy", fix=f"name the recipe: hunmin recipes --copy NAME --out {out}")
    if copy is None:
        rows = {name: summary(path) for name, path in known.items()}
        if as_json:
            print_json(rows)
            return
        table = Table("recipe", "what it trains")
        for row in rows.items():
            table.add_row(*row)
        console(stderr=False).print(table)
        return
    if copy not in known:
        raise UserError(f"there is no recipe '{copy}'", f"built-in recipes: {', '.join(known)}", "hunmin recipes")
    target = Path(out or f"{copy}.yaml")
    from common.destinations import OutputFile

    with OutputFile(target).open("wb") as stream:
        stream.write(known[copy].read_bytes())
    say(f"{target}: written. Change it, then: hunmin run {target}", style="green")
