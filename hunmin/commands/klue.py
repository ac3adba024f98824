"""`hunmin klue …`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from common.names import find, read_commits, write_commits
from common.progress import console, say, show
from hunmin import completion
from hunmin.commands.run import AsJson

app = typer.Typer(no_args_is_help=True, help="KLUE and other Korean benchmarks: fine-tune, score, report.")

Form = Literal["table", "markdown", "latex", "json"]
Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings, as in a recipe's klue section.")
]
Data = Annotated[
    str,
    typer.Option(
        "--data",
        help="Folder with the files of KLUE, or of the suite that is named; or a data set on the hub: klue/klue.",
    ),
]
TaskNames = Annotated[
    list[str] | None,
    typer.Option(
        "--task", help="Task; repeat for several. Default: all of the suites.", autocompletion=completion.tasks
    ),
]
SuiteNames = Annotated[
    list[str] | None,
    typer.Option(
        "--suite",
        help="klue, kobest or koelectra; repeat for several. Default: klue.",
        autocompletion=completion.suites,
    ),
]
Published = Annotated[
    bool | None,
    typer.Option(
        "--published/--no-published",
        help="Show the paper's dev rows; not for data that is not the benchmark.",
        show_default="the setting klue.published",
    ),
]


@app.command(epilog="Example: hunmin klue finetune runs/x/export --data klue/ --out scores --seeds 3 training.epochs=2")
def finetune(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Folder of an encoder that transformers loads, run folder, or name on the hub: OWNER/NAME[@REVISION].",
        ),
    ],
    data: Data,
    out: Annotated[str, typer.Option("--out", help="Folder to write; the same command goes on.")],
    overrides: Overrides = None,
    task: TaskNames = None,
    suite: SuiteNames = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Seeds a task: 42, 43, …")] = 1,
    baseline_random: Annotated[
        bool, typer.Option("--baseline-random", help="Also the same architecture from random initialisation.")
    ] = False,
    search: Annotated[
        Literal["none", "small", "grid"],
        typer.Option(
            "--search",
            help="Training values to try: small = four learning rates, grid = the paper's 384 sets. "
            "Values that are given are not varied; the best set on dev is reported, as in the paper.",
        ),
    ] = "none",
    executor: Annotated[
        Literal["local", "slurm-array"],
        typer.Option(
            "--executor",
            help="slurm-array = this process is an element of a Slurm array and does its share; same results.",
        ),
    ] = "local",
    save_model: Annotated[
        Literal["none", "best"] | None,
        typer.Option(
            "--save-model",
            help="best = keep each job's model by its best evaluation, for `hunmin klue predict`.",
            show_default="the setting klue.save_model",
        ),
    ] = None,
    keep_head: Annotated[
        bool,
        typer.Option("--keep-head", help="Keep the head of a model that was fine-tuned for the same task."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say how many jobs there would be, and end.")] = False,
    published: Published = None,
    as_json: AsJson = False,
) -> None:
    """Fine-tune a model on the tasks of KLUE, or other suites, and score it on test sets that are public, else on dev.

    Settings are those of a recipe's `klue` section: training.max_seq_len=128, ner.epochs=5, threads=2, benchmarks=DIR …
    """
    from common.settings import apply_overrides, inside, parse_settings
    from common.slurm_array import ArrayElement, ShareDone
    from klue.report import read_rows, results_table
    from klue.runner import plan_stage, run_klue
    from klue.settings import KlueSettings
    from klue.tables import published_for

    commits = read_commits(Path(out))
    folder = find(model, "model", commits)
    tree = {
        "data": str(find(data, "dataset", commits)),
        "seeds": seeds,
        "baseline_random": baseline_random,
        "search": search,
    }
    tree |= {"tasks": task} if task else {}
    tree |= {"suites": suite} if suite else {}
    tree |= {"save_model": save_model} if save_model else {}
    tree |= {"keep_head": True} if keep_head else {}
    settings = parse_settings(KlueSettings, apply_overrides(tree, inside(overrides or [], "klue")), "command line")
    if settings.benchmarks:
        settings = settings.model_copy(update={"benchmarks": str(find(settings.benchmarks, "dataset", commits))})
    if dry_run:
        show(f"{plan_stage(settings, folder, Path(out))}\n")
        return
    write_commits(Path(out), commits)
    try:
        run_klue(settings, folder, Path(out), ArrayElement.from_environment() if executor == "slurm-array" else None)
    except ShareDone as done:
        say(str(done), style="yellow")
        return
    rows = read_rows(Path(out))
    if as_json:
        print(json.dumps(rows, ensure_ascii=False, indent=1))
    else:
        terminal = console(stderr=False)
        beside = published_for(rows, settings.published if published is None else published)
        terminal.print(results_table(rows, beside, terminal.width))


@app.command(epilog="Example: hunmin klue upper-bound runs/x/export --data klue/ --task klue-ner")
def upper_bound(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="As of finetune; only its tokenizer and size matter.")],
    data: Data,
    task: TaskNames = None,
    suite: SuiteNames = None,
    as_json: AsJson = False,
) -> None:
    """Score faultless outputs: what the tokenizer and the longest input take away before any training.

    KLUE-NER's authors report no such figure; with their alignment their own tokenizer reaches 94.08 / 97.22.
    """
    from klue.results import metrics_of
    from klue.tasks import TASKS, names_of
    from klue.upper_bound import ceilings

    rows = ceilings(find(model, "model"), find(data, "dataset"), task or names_of(suite or ["klue"]))
    if as_json:
        print(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    table = Table("task", "metric", "upper bound", "examples", "inputs", "cut", "max length")
    for row in rows:
        for metric, name in metrics_of(row["task"]).items():
            counts = [f"{row[key]:,}" for key in ("examples", "inputs", "cut", "max_length")]
            table.add_row(TASKS[row["task"]].title, name, f"{row['scores'][metric]:.2f}", *counts)
    console(stderr=False).print(table)


@app.command(epilog="Example: hunmin klue score ynat --gold ynat-v1.1_dev.json --predictions p.jsonl --json")
def score(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK", help="As in the benchmark: ynat, klue-sts, …, wos.", autocompletion=completion.tasks
        ),
    ],
    gold: Annotated[str, typer.Option("--gold", help="The benchmark's own file.")],
    predictions: Annotated[str, typer.Option("--predictions", help='JSON Lines {"guid", "prediction"}.')],
    subset: Annotated[
        bool, typer.Option("--subset", help="Allow guids without a prediction; they are left out.")
    ] = False,
    interval: Annotated[
        bool, typer.Option("--interval", help="Also 95% confidence intervals (bootstrap over examples).")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Score a predictions file against a gold file; all scores × 100."""
    from klue.score import score as score_task

    scores = score_task(task, Path(gold), Path(predictions), subset, interval)
    if as_json:
        print(json.dumps(scores, ensure_ascii=False))
        return
    table = Table("metric", "score")
    for name, value in scores.items():
        if isinstance(value, list):
            table.add_row(name, " to ".join(f"{end:.2f}" for end in value))
        else:
            table.add_row(name, f"{value:.4f}" if isinstance(value, float) else str(value))
    console(stderr=False).print(table)


@app.command(epilog="Example: hunmin klue predict scores/jobs/ynat-pretrained-42/model ynat --in t.jsonl --out p.jsonl")
def predict(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="Folder of a model that --save-model best left, or its name on the hub."),
    ],
    task: Annotated[
        str,
        typer.Argument(metavar="TASK", help="What it was fine-tuned for: ynat …", autocompletion=completion.tasks),
    ],
    given: Annotated[str, typer.Option("--in", help="JSON Lines with the task's fields but for the label.")],
    out: Annotated[str, typer.Option("--out", help='JSON Lines to write, {"guid", "prediction"}.')],
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:1 …")] = "cpu",
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Also each label's probability; of tasks with one label a text.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Predict labels for texts without, by a fine-tuned model.

    A file of the benchmark will do, too: its labels are not looked at.
    """
    from klue.predict import predict_file

    counts = predict_file(find(model, "model"), task, Path(given), Path(out), device, probabilities)
    if as_json:
        print(json.dumps({**counts, "out": out}, ensure_ascii=False))
    else:
        say(f"{counts['predictions']:,} predictions: {out}")


@app.command(epilog="Example: hunmin klue report runs/a runs/b --interval --breakdown klue-ner --format latex > t.tex")
def report(
    folders: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Run folders or folders of `klue finetune`; one a model.")
    ],
    form: Annotated[
        Form,
        typer.Option("--format", help="What to print; --json is json: rows, their summary, published rows."),
    ] = "table",
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            help="Draw the scores as bars into this PNG file; with --breakdown also which label was taken for which, "
            "in FILE-TASK.png.",
        ),
    ] = None,
    interval: Annotated[
        bool,
        typer.Option(
            "--interval",
            help="Also 95% intervals, and paired differences between the models on the same examples (bootstrap).",
        ),
    ] = False,
    details: Annotated[
        list[str] | None,
        typer.Option(
            "--breakdown",
            metavar="TASK",
            help="Also a task by class, type of entity, relation, label, slot, answerable or not; repeat for several.",
            autocompletion=completion.tasks,
        ),
    ] = None,
    worst: Annotated[
        int,
        typer.Option("--worst", min=0, help="With --breakdown: number of examples with the largest error to print."),
    ] = 0,
    data: Annotated[
        str | None, typer.Option("--data", help="For --worst: folder with the files of KLUE, or of the task's suite.")
    ] = None,
    published: Published = None,
    as_json: AsJson = False,
) -> None:
    """Print scores of one model or several beside published rows, and of a run what the corpus held of each task."""
    from hunmin.recipe import load_recipe
    from hunmin.report import contamination
    from klue.print_report import Wanted, print_report

    found = [(given, klue_folder(Path(given))) for given in folders]
    runs = {given: path.resolve().parent for given, path in found}
    if published is None:  # by the recipes of the runs; of what `klue finetune` wrote there are none
        recipes = [run / "recipe.yaml" for run in runs.values()]
        published = all(load_recipe(recipe, []).published for recipe in recipes if recipe.is_file())
    held = {given: contamination(run / "corpus" / "hits.jsonl") for given, run in runs.items()}
    kind: Form = "json" if as_json else form
    print_report(Wanted(found, kind, plot, interval, details or [], worst, data, published, held))


def klue_folder(given: Path) -> Path:
    """Return the folder with results: of a run folder its `klue`, else the folder itself."""
    return given / "klue" if (given / "klue").is_dir() else given


@app.command(epilog="Example: hunmin klue watch runs/x klue.seeds=1 klue.training.epochs=2")
def watch(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="Run folder.")],
    overrides: Overrides = None,
    once: Annotated[bool, typer.Option("--once", help="Score what is there and end.")] = False,
    every: Annotated[float, typer.Option("--every", min=1, help="Seconds between two looks for checkpoints.")] = 30.0,
) -> None:
    """Score every checkpoint of a run that is still training, until the training ends; the same command goes on.

    Use CUDA_VISIBLE_DEVICES to keep it off the devices that train. Scores go to RUN/watch: scores.jsonl, scores.png.
    """
    from hunmin.watch import watch as watch_run

    watch_run(Path(folder), overrides or [], once, every)
