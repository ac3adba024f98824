"""`hunmin instruct …`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from common.errors import UserError
from common.progress import print_json, say
from common.progress import show as printed
from common.stage_folders import folder_of, of_run_or_itself
from hunmin.commands.options import AsJson, DecoderName, Overrides, Overwrite, RecipePath

app = typer.Typer(no_args_is_help=True, help="Tune Korean decoders: build instructions, tune, answer.")


@app.command(epilog="Example: hunmin instruct build configs/quickstart-instruct.yaml")
def build(recipe: RecipePath, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """Build a recipe's instructions from the data sets in `instruct.data`."""
    from hunmin.pipeline.run import run
    from hunmin.recipes.load import load_instruct_recipe

    loaded = load_instruct_recipe(recipe, overrides or [], section="instruct")
    run(loaded, last="instruct")
    show(loaded.out, None, 0, as_json)


@app.command(epilog="Example: hunmin instruct tune configs/quickstart-instruct.yaml --dry-run")
def tune(
    recipe: RecipePath,
    overrides: Overrides = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Restart from scratch; the earlier output is moved aside.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print examples, steps and memory; train nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Tune the recipe's base model on its instructions; resumes. Works under torchrun and srun."""
    from hunmin.instruct.plan import planned, print_tuning
    from hunmin.pipeline.joint_training import TUNING, train_together
    from hunmin.pipeline.run import refuse_early, require_done
    from hunmin.pipeline.run import run as run_recipe
    from hunmin.recipes.load import load_instruct_recipe
    from pretrain.parallel.world import world_info

    loaded = load_instruct_recipe(recipe, overrides or [], section="tune")
    if world_info(os.environ).world > 1 and not dry_run:
        train_together(loaded, [recipe, *(overrides or [])], restart, TUNING)
        return
    require_done(loaded, "instruct", [recipe, *(overrides or [])])
    if dry_run:
        plan = planned(loaded.tune, folder_of(Path(loaded.out), "instruct"))
        print_json(plan) if as_json else print_tuning(plan)
        refuse_early(loaded, None, "tune", "tune" if restart else None)
        return
    run_recipe(loaded, last="tune", restart="tune" if restart else None)


@app.command(epilog="Example: hunmin instruct show runs/quickstart-instruct --task nsmc -n 2")
def show(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Build folder, or its run.")],
    task: Annotated[str | None, typer.Option("--task", help="Instruction use to show; default: all.")] = None,
    count: Annotated[int, typer.Option("-n", min=0, help="Number of examples per use.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Show a build: rows by use, and examples."""
    from data.instruct.show import describe
    from hunmin.instruct.plan import SHOWN, print_rows

    path = Path(folder)
    described = describe(of_run_or_itself(path, "instruct"), task, count)
    if as_json:
        print_json(described)
        return
    print_rows([{name: line.get(name, "") for name in SHOWN} for line in described["uses"]])
    for row in [*described["examples"], *described["held_out_examples"]]:
        printed(json.dumps(row, ensure_ascii=False, indent=1) + "\n")


@app.command(
    epilog="Example: hunmin instruct answer runs/quickstart-instruct --prompt '정말 멋지다. 긍정인가, 부정인가?'"
)
def answer(
    model: DecoderName,
    prompt: Annotated[str | None, typer.Option("--prompt", help="Instruction to answer.")] = None,
    source: Annotated[str | None, typer.Option("--in", help='Rows to answer: "instruction", optional "input".')] = None,
    out: Annotated[str | None, typer.Option("--out", help='JSON Lines to write: the rows with "answer".')] = None,
    max_new_tokens: Annotated[int, typer.Option("--max-new-tokens", min=1, help="Maximum tokens per answer.")] = 256,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Batch size in prompts.")] = 8,
    device: Annotated[
        str | None, typer.Option("--device", help="Device: cpu, cuda, …; default: a GPU if available.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Answer instructions by greedy decoding, in the layout of tuning."""
    from common.destinations import OutputFile
    from data.instruct.layout import user_message
    from hunmin.instruct.stages import decoder_folder
    from leaderboard.rows import read_rows
    from pretrain.decoders.answer import answer as answers

    if (prompt is None) == (source is None) or (source is None) != (out is None):
        raise UserError("give --prompt TEXT, or --in FILE with --out FILE")
    file = OutputFile(Path(out), b'"answer":', overwrite, [source or "-"]) if out else None
    rows: list[dict[str, Any]] = [{"instruction": prompt}] if source is None else read_rows(Path(source))
    for number, row in enumerate(rows, 1):
        if not isinstance(row.get("instruction"), str) or not isinstance(row.get("input") or "", str):
            raise UserError(f'{source}, row {number}: "instruction" is not text', fix="fix the row")
    messages = [user_message(row["instruction"], row.get("input") or "") for row in rows]
    texts = answers(decoder_folder(model), messages, max_new_tokens, batch_size, device)
    if file is None:
        printed(next(texts) + "\n")
        return
    with file.open(as_given=True) as stream:
        for row, text in zip(rows, texts, strict=True):
            stream.write(json.dumps({**row, "answer": text}, ensure_ascii=False) + "\n")
    say(f"{len(rows):,} answers: {out}")
