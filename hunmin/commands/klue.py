"""`hunmin klue …`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from common.errors import UserError
from common.progress import console
from hunmin.commands.run import AsJson

app = typer.Typer(no_args_is_help=True, help="The KLUE tasks: fine-tune, score, report.")

Published = Annotated[
    bool, typer.Option(help="Show the paper's dev rows; --no-published for data that is not the benchmark.")
]


@app.command(epilog="Example: hunmin klue finetune runs/x/export --data klue/ --out scores --seeds 3")
def finetune(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Folder of an encoder that transformers loads.")],
    data: Annotated[str, typer.Option("--data", help="Folder with the benchmark's files.")],
    out: Annotated[str, typer.Option("--out", help="Folder to write; the same command goes on.")],
    task: Annotated[list[str] | None, typer.Option("--task", help="Task; repeat for several. Default: all.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Seeds a task: 42, 43, …")] = 1,
    baseline_random: Annotated[
        bool, typer.Option("--baseline-random", help="Also the same architecture from random initialisation.")
    ] = False,
    published: Published = True,
    as_json: AsJson = False,
) -> None:
    """Fine-tune a model on KLUE tasks and score it on their dev sets."""
    from common.settings import parse_settings
    from klue.report import published_rows, results_table
    from klue.runner import run_klue
    from klue.settings import KlueSettings

    tree = {"data": data, "seeds": seeds, "baseline_random": baseline_random, **({"tasks": task} if task else {})}
    settings = parse_settings(KlueSettings, tree, "command line")
    run_klue(settings, Path(model), Path(out))
    rows = [json.loads(line) for line in (Path(out) / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    if as_json:
        print(json.dumps(rows, ensure_ascii=False, indent=1))
    else:
        console(stderr=False).print(results_table(rows, published_rows() if published else None))


@app.command(epilog="Example: hunmin klue score ynat --gold ynat-v1.1_dev.json --predictions p.jsonl --json")
def score(
    task: Annotated[str, typer.Argument(metavar="TASK", help="ynat, klue-sts, klue-nli …")],
    gold: Annotated[str, typer.Option("--gold", help="The benchmark's own file.")],
    predictions: Annotated[str, typer.Option("--predictions", help='JSON Lines {"guid", "prediction"}.')],
    subset: Annotated[
        bool, typer.Option("--subset", help="Allow guids without a prediction; they are left out.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Score a predictions file against a gold file; all scores × 100."""
    from klue.score import score as score_task

    scores = score_task(task, Path(gold), Path(predictions), subset)
    if as_json:
        print(json.dumps(scores, ensure_ascii=False))
        return
    table = Table("metric", "score")
    for name, value in scores.items():
        table.add_row(name, f"{value:.4f}" if isinstance(value, float) else str(value))
    console(stderr=False).print(table)


@app.command(epilog="Example: hunmin klue report runs/quickstart")
def report(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="Run folder or folder of `klue finetune`.")],
    published: Published = True,
    as_json: AsJson = False,
) -> None:
    """Print scores beside the published dev rows."""
    from klue.report import published_rows, read_rows, results_table

    path = Path(folder)
    rows = read_rows(path / "klue" if (path / "klue").is_dir() else path)
    if as_json:
        print(json.dumps(rows, ensure_ascii=False, indent=1))
    else:
        console(stderr=False).print(results_table(rows, published_rows() if published else None))


@app.command(epilog="Example: hunmin klue watch runs/x")
def watch(folder: Annotated[str, typer.Argument(metavar="RUN", help="Run folder.")]) -> None:
    """Score every checkpoint of a run that is still training (not available yet)."""
    raise UserError(
        "klue watch is not available yet",
        "this version scores finished exports",
        f"hunmin export {folder}/pretrain/checkpoints/step-… --out model, then hunmin klue finetune model",
    )
