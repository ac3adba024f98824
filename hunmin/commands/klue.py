"""`hunmin klue …`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from common.names import find, read_commits, write_commits
from common.plots import plot_file
from common.progress import console, print_json, say, show
from common.stage_folders import folder_of, of_run_or_itself, run_and_stage
from hunmin import completion
from hunmin.commands.options import AsJson, Overwrite

app = typer.Typer(no_args_is_help=True, help="Fine-tune and score on KLUE and other Korean benchmarks.")

Form = Literal["table", "markdown", "latex", "json"]
Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings of a recipe's klue section.")
]
TaskNames = Annotated[
    list[str] | None,
    typer.Option("--task", help="Task, repeatable; default: all of the suites.", autocompletion=completion.tasks),
]
SuiteNames = Annotated[
    list[str] | None,
    typer.Option(
        "--suite",
        help="Suite, repeatable: klue, kobest or koelectra; default: klue.",
        autocompletion=completion.suites,
    ),
]
TaskFiles = Annotated[
    list[str] | None,
    typer.Option("--task-file", help="YAML file of your own task (name, kind, train, text, label …), repeatable."),
]
Published = Annotated[
    bool | None,
    typer.Option(
        "--published/--no-published",
        help="Show the paper's dev scores; turn it off for other data.",
        show_default="the setting klue.published",
    ),
]


@app.command(epilog="Example: hunmin klue finetune runs/x/export --data klue/ --out scores --seeds 3 training.epochs=2")
def finetune(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help=r"Encoder: folder, run folder, or name on the hub (OWNER/NAME\[@REVISION]).",
        ),
    ],
    out: Annotated[str, typer.Option("--out", help="Output folder; the same command resumes.")],
    data: Annotated[
        str | None,
        typer.Option("--data", help="Benchmark files of the suite: folder, or data set on the hub (klue/klue)."),
    ] = None,
    overrides: Overrides = None,
    task: TaskNames = None,
    suite: SuiteNames = None,
    task_file: TaskFiles = None,
    train: Annotated[
        str | None,
        typer.Option("--train", help="Train file of your own task (.csv, .jsonl …): a task without a YAML file."),
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option("--text", help="With --train: column of the text; twice: a pair.")
    ] = None,
    label: Annotated[str | None, typer.Option("--label", help="With --train: column of the label.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Number of seeds per task: 42, 43, …")] = 1,
    baseline_random: Annotated[
        bool, typer.Option("--baseline-random", help="Fine-tune the same architecture from random weights too.")
    ] = False,
    search: Annotated[
        Literal["none", "small", "grid"],
        typer.Option(
            "--search",
            help="Hyperparameter search: small = four learning rates, grid = the paper's 384 sets. Given values stay "
            "fixed; the best set on dev is reported, as in the paper.",
        ),
    ] = "none",
    executor: Annotated[
        Literal["local", "slurm-array"],
        typer.Option(
            "--executor",
            help="Where jobs run: local, or slurm-array = as this element of a Slurm array; the results are the same.",
        ),
    ] = "local",
    save_model: Annotated[
        Literal["none", "best"] | None,
        typer.Option(
            "--save-model",
            help="Model to keep of each job: best = its best evaluation, for hunmin klue predict.",
            show_default="the setting klue.save_model",
        ),
    ] = None,
    keep_head: Annotated[
        bool,
        typer.Option("--keep-head", help="Keep the head of a model fine-tuned for the same task."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the number of jobs; run nothing.")] = False,
    published: Published = None,
    as_json: AsJson = False,
) -> None:
    """Fine-tune a model on KLUE's tasks, other suites', or your own, and score it on test, where there is one, or dev.

    Settings are those of a recipe's `klue` section: training.max_seq_len=128, per_task.ner.epochs=5, threads=2 …
    """
    from common.settings import apply_overrides, inside, parse_settings
    from common.slurm_array import ArrayElement, ShareDone
    from klue.job import refuse_edited
    from klue.plan import jobs_of
    from klue.result_rows import read_rows
    from klue.runner import plan_stage, run_klue
    from klue.settings import KlueSettings
    from klue.table_forms import results_table
    from klue.tables import published_for
    from klue.tasks.own_row import with_hub_files

    commits = read_commits(Path(out))
    folder = find(model, "model", commits)
    options: dict[str, Any] = {
        "data": str(find(data, "dataset", commits)) if data else "", "tasks": task, "suites": suite,
        "seeds": seeds, "search": search, "baseline_random": baseline_random, "save_model": save_model,
        "keep_head": keep_head,
    }  # fmt: skip
    if own := own_tasks(task_file or [], train, text, label):
        own = [with_hub_files(row, partial(find, part="dataset", commits=commits)) for row in own]
        names = [str(row["name"]) for row in own]
        options |= {"own": own, "tasks": task if suite and not task else list(dict.fromkeys([*(task or []), *names]))}
    tree = {key: value for key, value in options.items() if value}  # what is left out has the setting's default
    settings = parse_settings(KlueSettings, apply_overrides(tree, inside(overrides or [], "klue")), "command line")
    if settings.benchmarks:
        settings = settings.model_copy(update={"benchmarks": str(find(settings.benchmarks, "dataset", commits))})
    if dry_run:
        show(f"{plan_stage(settings, folder, jobs_of(Path(out)))}\n")
        return
    from common.destinations import claim_folder

    claim_folder(Path(out), "KLUE scores")
    refuse_edited(Path(out))
    write_commits(Path(out), commits)
    try:
        share = ArrayElement.from_environment() if executor == "slurm-array" else None
        run_klue(settings, folder, Path(out), share=share)
    except ShareDone as done:
        say(str(done), style="yellow")
        return
    rows = read_rows(Path(out))
    if as_json:
        print_json(rows)
    else:
        terminal = console(stderr=False)
        beside = published_for(rows, settings.published if published is None else published)
        terminal.print(results_table(rows, beside, terminal.width))


def own_tasks(files: list[str], train: str | None, text: list[str] | None, label: str | None) -> list[dict[str, Any]]:
    """Return the rows of one's own tasks that the options state. Raises UserError for options that do not fit."""
    from common.errors import UserError
    from common.settings import load_yaml, parse_settings
    from hunmin.recipes.labelled import own_name
    from klue.tasks.own_row import OwnTask

    rows = [(file, {"name": own_name(file), **load_yaml(file)}) for file in files]
    if train:
        options = {"name": own_name(train), "train": train, "text": text, "label": label}
        rows.append(("--train", {key: value for key, value in options.items() if value}))
    elif text or label:
        raise UserError("--text and --label without --train", "they name columns of its file", "add --train FILE")
    for source, row in rows:
        parse_settings(OwnTask, row, source, fix=f"fix {source}", options={} if source == "--train" else None)
    return [row for _, row in rows]


@app.command(epilog="Example: hunmin klue score ynat --gold ynat-v1.1_dev.json --predictions p.jsonl --json")
def score(
    task: Annotated[
        str,
        typer.Argument(metavar="TASK", help="Task name: ynat, klue-sts, …, wos.", autocompletion=completion.tasks),
    ],
    gold: Annotated[str, typer.Option("--gold", help="Gold file of the benchmark, or labelled file of your own.")],
    predictions: Annotated[str, typer.Option("--predictions", help='Predictions: JSON Lines {"guid", "prediction"}.')],
    task_file: TaskFiles = None,
    subset: Annotated[bool, typer.Option("--subset", help="Skip guids without a prediction.")] = False,
    interval: Annotated[
        bool, typer.Option("--interval", help="Print 95% confidence intervals (bootstrap over examples).")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Score a predictions file against a gold file; all scores × 100."""
    from klue.score_file import score as score_task
    from klue.tasks import add_own
    from klue.tasks.own_row import OwnTask

    for row in own_tasks(task_file or [], None, None, None):
        add_own(OwnTask.model_validate(row))
    scores = score_task(task, Path(gold), Path(predictions), subset, interval)
    if as_json:
        print_json(scores, indent=None)
        return
    table = Table("metric", "score")
    for name, value in scores.items():
        if isinstance(value, list):
            table.add_row(name, " to ".join(f"{end:.2f}" for end in value))
        else:
            table.add_row(name, f"{value:.4f}" if isinstance(value, float) else str(value))
    console(stderr=False).print(table)


@app.command(epilog="Example: hunmin klue predict scores/jobs/ynat-*/model --in t.jsonl --out p.jsonl")
def predict(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="Fine-tuned model (--save-model best): folder, or name on the hub."),
    ],
    source: Annotated[str, typer.Option("--in", help="Texts: a file with the task's fields; labels are ignored.")],
    out: Annotated[str, typer.Option("--out", help='JSON Lines to write: {"guid", "prediction"}.')],
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="[TASK]",
            help="Task of the model; default: the one that it was fine-tuned for.",
            autocompletion=completion.tasks,
        ),
    ] = None,
    device: Annotated[str, typer.Option("--device", help="Device: cpu, cuda, cuda:1 …")] = "cpu",
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Write label probabilities too (tasks with one label per text).")
    ] = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Predict labels of new texts with a fine-tuned model; benchmark files work too, their labels are ignored."""
    from klue.predict import predict_file

    counts = predict_file(find(model, "model"), task, Path(source), Path(out), device, probabilities, overwrite)
    if as_json:
        print_json({**counts, "out": out}, indent=None)
    else:
        say(f"{counts['predictions']:,} predictions: {out}")


@app.command(epilog="Example: hunmin klue report runs/a runs/b --interval --breakdown klue-ner --format latex > t.tex")
def report(
    folders: Annotated[
        list[str],
        typer.Argument(metavar="RUN", help="Run folders or output folders of klue finetune, one per model."),
    ],
    form: Annotated[
        Form,
        typer.Option("--format", help="Output format; json holds rows, summary and published rows."),
    ] = "table",
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            help="Bar chart file: .png, .svg or .pdf; with --breakdown also a confusion matrix in FILE-TASK.png.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    interval: Annotated[
        bool,
        typer.Option(
            "--interval",
            help="Print 95% intervals and paired differences between the models on the same examples (bootstrap).",
        ),
    ] = False,
    details: Annotated[
        list[str] | None,
        typer.Option(
            "--breakdown",
            metavar="TASK",
            help="Task to break down by class, entity type, relation, label or slot; repeatable.",
            autocompletion=completion.tasks,
        ),
    ] = None,
    worst: Annotated[
        int,
        typer.Option("--worst", min=0, help="With --breakdown: number of examples with the largest error to print."),
    ] = 0,
    data: Annotated[str | None, typer.Option("--data", help="Benchmark folder, for --worst.")] = None,
    published: Published = None,
    as_json: AsJson = False,
) -> None:
    """Print scores of models beside published scores, and what decontamination removed per task."""
    from hunmin.pipeline.report import contamination
    from hunmin.recipes.recipe import load_recipe
    from klue.print_report import ReportOptions, print_report

    chart = plot_file(Path(plot), "--plot", overwrite) if plot else None
    named = [(name, klue_folder(Path(name))) for name in folders]
    runs = {name: run_and_stage(path)[0] for name, path in named}
    recipes = {  # of what `klue finetune` wrote there are none
        path: load_recipe(recipe, []) for name, path in named if (recipe := runs[name] / "recipe.yaml").is_file()
    }
    if published is None:
        published = all(recipe.published for recipe in recipes.values())
    contaminated = {name: contamination(folder_of(run, "corpus") / "hits.jsonl") for name, run in runs.items()}
    names = {path: recipe.name for path, recipe in recipes.items()}
    kind: Form = "json" if as_json else form
    options = ReportOptions(named, kind, chart, interval, details or [], worst, data, published, contaminated, names)
    print_report(options)


def klue_folder(path: Path) -> Path:
    """Return the folder with results: of a run folder its `klue`, else the folder itself."""
    return of_run_or_itself(path, "klue")


@app.command(epilog="Example: hunmin klue watch runs/x klue.seeds=1 klue.training.epochs=2")
def watch(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="Run folder.")],
    overrides: Overrides = None,
    once: Annotated[bool, typer.Option("--once", help="Score the existing checkpoints and exit.")] = False,
    every: Annotated[float, typer.Option("--every", min=1, help="Polling interval, in seconds.")] = 30.0,
) -> None:
    """Score each checkpoint of a running training until it ends; the same command resumes.

    Use CUDA_VISIBLE_DEVICES to keep it off the devices that train. Scores go to RUN/watch: scores.jsonl, scores.png.
    """
    from hunmin.pipeline.watch import watch as watch_run

    watch_run(Path(folder), overrides or [], once, every)
