"""`hunmin klue report`: the scores of one or several models, compared and taken apart, in one of the forms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from rich.text import Text

from common.destinations import OutputFile
from common.errors import UserError
from common.manifest import refuse_damaged
from common.names import find
from common.progress import console, print_json, say, show
from common.results import check_unchanged
from klue.breakdown import confusions, detail_grids, detail_rows, worst, worst_grids
from klue.compare import compare, comparison_grids, read_models
from klue.examples import find_file, read_examples
from klue.grid import latex_grid, markdown_grid, terminal_grid
from klue.plot import draw_confusion, draw_scores
from klue.result_rows import FIX, RESULTS, read_rows
from klue.table_forms import as_tree, latex, markdown, results_table
from klue.tables import published_for
from klue.tasks import canonical, get_task, suite_folder

Form = Literal["table", "markdown", "latex", "json"]


@dataclass(frozen=True)
class ReportOptions:
    """What a report is to hold; see the command's options."""

    folders: list[tuple[str, Path]]
    """Each path as it was given, and the folder with its results."""
    form: Form
    plot: OutputFile | None
    interval: bool
    details: list[str]
    worst: int
    data: str | None
    published: bool
    contamination: dict[str, dict[str, int]]
    """Path as it was given → task → sentences of its corpus that were taken out for it; empty where none is known."""
    names: dict[Path, str]
    """Folder of a run → the present name of its recipe."""

    @property
    def tasks(self) -> list[str]:
        """Return the names of the tasks to break down, each once."""
        return list(dict.fromkeys(canonical(name) or name for name in self.details))


def print_report(options: ReportOptions) -> None:
    """Print a report to stdout, and draw its plot. Raises UserError where a folder holds no results, a task is none or
    was not run, or texts are asked for without --data."""
    if options.worst and not (options.data and options.details):
        raise UserError(
            f"--worst {options.worst} without --data and --breakdown",
            "it shows the texts of a task's examples, which stand in the benchmark's files",
            "name the task by --breakdown and the folder by --data",
        )
    matrices = {
        name: replace(plot, path=plot.path.with_name(f"{plot.path.stem}-{name}{plot.path.suffix}"))
        for name in options.tasks
        if (plot := options.plot)
    }
    rows = read_models(options.folders, lambda folder: _rows(folder, options.names.get(folder)))
    for name in options.details:  # rows have told of own tasks
        get_task(name)
    several = len(options.folders) > 1
    known = None if several else options.contamination[options.folders[0][0]]
    beside = published_for(rows, options.published)
    if options.plot:
        draw_scores(rows, beside, options.plot)
        say(f"plot: {options.plot.path}")
    if options.interval or options.details:
        for _, folder in options.folders:
            refuse_damaged(folder, FIX, ["jobs/*/model/*"])  # labels and predictions are read, too
    more, grids, notes = _more(options, rows)
    for name, file in matrices.items():
        if confused := confusions(rows, name):  # of a task whose predictions are labels
            draw_confusion(confused, file)
            say(f"plot: {file.path}")
    counts = {
        path: ", ".join(f"{task} {count:,}" for task, count in by_task.items())
        for path, by_task in options.contamination.items()
    }
    removed = "corpus sentences removed, which equal, resemble or contain one of a task's"
    notes = [f"{path}: {removed}: {listed}." for path, listed in counts.items() if several and listed] + notes
    if options.form == "json":
        shown = rows if several else [{name: row[name] for name in row if name != "folder"} for row in rows]
        tree = as_tree(shown, beside, known) | more | ({"contamination": options.contamination} if several else {})
        print_json(tree)
        return
    if options.form == "table":
        terminal = console(stderr=False)
        terminal.print(results_table(rows, beside, terminal.width, known))
        for grid in grids:
            terminal.print(terminal_grid(grid))
        for note in notes:
            terminal.print(Text(note))
        return
    as_text, grid_as_text = (markdown, markdown_grid) if options.form == "markdown" else (latex, latex_grid)
    ends = [f"{'% ' if options.form == 'latex' else ''}{note}\n" for note in notes]
    show("\n".join([as_text(rows, beside, known), *map(grid_as_text, grids), *ends]))


def _rows(folder: Path, name: str | None) -> list[dict[str, Any]]:
    rows = read_rows(folder)
    if not check_unchanged(folder / RESULTS):
        say(f"{folder}: no manifest describes these scores; each is within its metric's range", style="yellow")
    return rows if name is None else [{**row, "model": name} for row in rows]


def _more(options: ReportOptions, rows: list[dict[str, Any]]) -> tuple[dict[str, Any], list[Any], list[str]]:
    """Return what is asked for beside the scores: as a JSON-like tree, as tables, and the notes below."""
    more: dict[str, Any] = {}
    grids, notes = [], []
    if options.interval:
        more["comparison"] = compare(rows)
        grids += comparison_grids(more["comparison"])
        notes += [more["comparison"]["how"]]
        notes += [f"{name}: {why}." for name, why in more["comparison"]["not_compared"].items()]
    for name in options.tasks:
        detail, missing = detail_rows(rows, name)
        if not detail:
            raise UserError(
                f"no predictions of {name} in {', '.join(path for path, _ in options.folders)}",
                "details are of tasks that were run",
                missing.get(name, "name a task of the table"),
            )
        more.setdefault("details", {})[name] = detail
        grids += detail_grids(detail, name)
        if options.worst and options.data:
            examples = _examples(name, find(options.data, "dataset"), detail[0]["split"])
            more.setdefault("worst", {})[name] = worst(rows, name, examples, options.worst)
            grids += worst_grids(more["worst"][name], name)
    return more, grids, notes


def _examples(name: str, data: Path, split: str) -> list[Any]:
    task = get_task(name)
    folder = suite_folder(data, name)
    # of some tasks dev is a part of train
    paths = [find_file(task, folder, part) for part in dict.fromkeys((split, "train"))]
    files = [path for path in paths if path is not None]
    if not files:
        raise UserError(f"no file of {name} in {folder}", "texts stand in the benchmark's files", "fix --data")
    return [example for path in files for example in read_examples(task, path)]
