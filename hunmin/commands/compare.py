"""`hunmin compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from common.errors import UserError
from common.plots import plot_file
from common.progress import console, print_json, short_number
from hunmin.commands.options import AsJson, Overwrite


def register(app: typer.Typer) -> None:
    app.command("compare", epilog="Example: hunmin compare runs/base-* runs/muon --text held-out.txt --plot k.png")(
        compare
    )


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN", help="Finished runs; those of one name are an arm's seeds and budgets."),
    ],
    text: Annotated[str, typer.Option("--text", help="File with text that no run was trained on.")],
    sentences: Annotated[int, typer.Option("--sentences", min=1, help="Sentences of the text at most.")] = 1500,
    probes: Annotated[
        str | None,
        typer.Option("--probes", metavar="DATA", help="Folder of KLUE's files, to probe YNAT, NER and DP, too."),
    ] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", help="Plot of bits per byte against FLOP: .png, .svg or .pdf.")
    ] = None,
    overwrite: Overwrite = False,
    device: Annotated[str, typer.Option("--device", help="Device: cpu, cuda, cuda:1 …")] = "cpu",
    as_json: AsJson = False,
) -> None:
    """Compare runs of any vocabulary, masking and shape: bits per byte of the same sentences, and FLOP to reach it.

    The first run's name is the base. Where it has runs of two budgets or more, k is how many times the FLOP of an arm
    the base needs for the same bits per byte, with a 95% interval.
    """
    from hunmin.pipeline.compare import compare as compare_runs
    from hunmin.pipeline.compare import draw, summary
    from klue.probes import TASKS

    if len(runs) < 2:
        raise UserError(f"one run, {runs[0]}", "runs are compared with each other", "name two or more")
    chart = plot_file(Path(plot), "--plot", overwrite) if plot else None
    tasks = TASKS if probes else ()
    table = summary(*compare_runs([*map(Path, runs)], text, sentences, tasks, Path(probes) if probes else None, device))
    if chart:
        draw(table, chart)
    if as_json:
        print_json(table)
        return
    console(stderr=False).print(_table(table))


def _table(rows: list[dict[str, Any]]) -> Table:
    tasks = list(rows[0]["probes"])
    shown = Table("name", "steps", "seeds", "FLOP", "hours", "bits per byte", *tasks, "k", title_justify="left")
    for row in rows:
        saved, spread = row["speed_up"], f" ± {row['sd']:.4f}" if row["sd"] is not None else ""
        k = "base" if saved is None else "–" if saved["k"] is None else f"{saved['k']:.2f}"
        interval = f" [{saved['low']:.2f}, {saved['high']:.2f}]" if saved and saved["low"] is not None else ""
        shown.add_row(
            row["name"], f"{row['steps']:,}", str(row["seeds"]), short_number(row["flops"]),
            f"{row['device_hours']:.2f}", f"{row['bits_per_byte']:.4f}{spread}",
            *(f"{row['probes'][task]:.2f}" for task in tasks), k + interval.replace("[", r"\["),
        )  # fmt: skip
    return shown
