"""`hunmin leaderboard …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from common.plots import plot_file
from common.progress import print_json, show
from common.stage_folders import of_run_or_itself
from hunmin import completion
from hunmin.commands.options import AsJson, DecoderName, Overrides, Overwrite

app = typer.Typer(
    no_args_is_help=True, help="Score decoders on KIT-19's six sets, nine leaderboard tasks, and held-out rows."
)
Form = Literal["markdown", "latex", "json"]
Suite = Annotated[
    str, typer.Option("--suite", help="Suite: kit19, leaderboard2 or instruct.", autocompletion=completion.boards)
]


@app.command(epilog="Example: hunmin leaderboard score runs/x --suite kit19 --data kobest --out scores")
def score(
    model: DecoderName,
    suite: Suite,
    data: Annotated[
        str, typer.Option("--data", help="Folder with the tasks' files; for instruct, a build or its run.")
    ],
    out: Annotated[str, typer.Option("--out", help="Output folder; the same command resumes.")],
    overrides: Overrides = None,
    task: Annotated[list[str] | None, typer.Option("--task", help="Task, repeatable; default: all.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Maximum rows per task, for trials; no means are printed.")
    ] = None,
    chat_template: Annotated[bool, typer.Option("--chat-template", help="Use the tokenizer's chat template.")] = False,
    as_json: AsJson = False,
) -> None:
    """Score a decoder with lm-eval, beside the best constant answer; finished tasks are kept.

    Settings are those of a recipe's `leaderboard` section: leaderboard.batch_size=4, shots …
    """
    from common.settings import apply_overrides, inside, parse_settings
    from hunmin.instruct.stages import decoder_folder
    from leaderboard.score import score_model
    from leaderboard.settings import LeaderboardSettings

    tree = {"suites": [suite], "data": data, "limit": limit, "chat_template": chat_template}
    tree = apply_overrides(tree | ({"tasks": task} if task else {}), inside(overrides or [], "leaderboard"))
    settings = parse_settings(LeaderboardSettings, tree, "command line")
    build = of_run_or_itself(Path(data), "instruct")
    held_out = build / "held_out.jsonl" if suite == "instruct" else None
    from common.destinations import claim_folder

    claim_folder(Path(out), "leaderboard scores")
    score_model(settings, decoder_folder(model), Path(out), held_out)
    print_board([out], "json" if as_json else "markdown")


@app.command(epilog='Example: lm_eval run --include_path $(hunmin leaderboard tasks) --metadata \'{"data": "DIR"}\' …')
def tasks() -> None:
    """Print the folder of the task files, for lm-eval's own command."""
    from leaderboard.suites import tasks_folder

    print(tasks_folder())


@app.command(epilog="Example: hunmin leaderboard report scores/a scores/b --format latex")
def report(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Output folders of score, or runs.")],
    form: Annotated[Form, typer.Option("--format", help="Output format.")] = "markdown",
) -> None:
    """Print scores of models beside constant answers and published scores."""
    print_board([str(of_run_or_itself(Path(path), "leaderboard")) for path in paths], form)


@app.command(epilog="Example: hunmin leaderboard correlate scores/a scores/b published.csv --plot correlation.png")
def correlate(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Results of score or lm-eval, or CSV: model,task,score.")
    ],
    plot: Annotated[str | None, typer.Option("--plot", help="Heat map file: .png, .svg or .pdf.")] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Correlate tasks over models, ten at least: Spearman, Pearson, Kendall, bootstrap intervals."""
    from hunmin.instruct.plan import print_rows
    from leaderboard.correlate import correlate as correlations
    from leaderboard.correlate import heat_map

    file = plot_file(Path(plot), "--plot", overwrite) if plot else None
    result = correlations([of_run_or_itself(Path(file), "leaderboard") for file in files])
    if file:
        heat_map(result, file)
    if as_json:
        print_json(result)
        return
    published = result["published"]
    shown = "{value:.2f} ({interval[0]:.2f} to {interval[1]:.2f})"
    rows = [
        {"tasks": " × ".join(pair["tasks"]), "models": pair["n"], "note": pair["note"]}
        | {name: shown.format(**pair[name]) if name in pair else "" for name in ("spearman", "pearson", "kendall")}
        for pair in result["pairs"]
    ]
    print_rows(rows or [{"tasks": "fewer than two", "models": len(result["models"])}])
    show(f"published: {published['value']} between {published['of']}; unknown: {published['unknown']}\n")


def print_board(paths: list[str], form: Form) -> None:
    """Print the report of folders with scores on stdout."""
    from leaderboard.report import report as written

    show(written([Path(path) for path in paths], form).rstrip("\n") + "\n")
