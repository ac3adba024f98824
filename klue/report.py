"""Result rows as tables: for the terminal, Markdown, LaTeX; the published rows beside ours, never an average."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from common.errors import UserError
from klue.results import apart, metrics_of, summarize
from klue.search import values_text
from klue.tasks import TASKS

TITLES = {"pretrained": "pretrained", "random": "random initialisation"}
CAPTION = (
    "Dev scores × 100, best of the evaluations of each fine-tuning (as in the KLUE paper); mean ± standard deviation "
    "over seeds where there are several."
)
AS_PUBLISHED = (
    "as published: what the authors' code makes of the same outputs, where ours makes something else of them; "
    "only beside that do published scores stand (docs/klue.md)."
)
NONE_BESIDE = "No published scores: no task was trained and scored on the whole of its data."
FLAG_MARKS = "†‡§¶"
"""Marks of doubtful published scores."""
METRIC_WIDTH = 38
"""Columns of the terminal that names of metrics take at most."""
BESIDE = "KLUE-"
"""The terminal has room for the published models whose names begin so; the other forms have all."""


@dataclass(frozen=True)
class Line:
    """A model's scores, one a column; None where there is none."""

    title: str
    init: str
    """Empty for published scores."""
    seeds: str
    """How many; empty for published scores."""
    cells: list[str]
    values: list[float | None]
    flagged: frozenset[int] = frozenset()
    """Columns whose score is doubtful: it is never the best."""


@dataclass(frozen=True)
class Scores:
    """Scores as tables show them."""

    columns: list[str]
    lines: list[Line]
    notes: list[str]
    extra: list[tuple[str, list[str]]]
    """Metrics beside the paper's, and those by which evaluations are chosen at the end of training: their names, and
    ours in the order of the lines."""
    apart: frozenset[int] = frozenset()
    """Columns of tasks that are split or cut: no score there is the best."""

    def best(self, column: int) -> float | None:
        """Return the highest score of a column, of those that can be compared; None where none can."""
        if column in self.apart:
            return None
        found = [line.values[column] for line in self.lines if column not in line.flagged]
        return max((value for value in found if value is not None), default=None)


def published_rows(path: Path | None = None) -> dict[str, Any]:
    """Return the paper's dev scores.

    They are {"source", "flags": {flag: text}, "rows": [{"model", "scores": {task: {metric: number}}, "flags": {task:
    {metric: flag}}}]}, with flags where a score is doubtful.

    Args:
        path: another file of the same form; None = the one that comes with the package.
    """
    return json.loads((path or Path(__file__).with_name("published.json")).read_text(encoding="utf-8"))


def tabulate(
    rows: Sequence[dict[str, Any]],
    published: dict[str, Any] | None = None,
    contamination: Mapping[str, int] | None = None,
) -> Scores:
    """Return the scores of result rows: one column a metric of their tasks, one line an initialisation, then others.

    Args:
        rows: result rows of jobs (results.jsonl).
        published: what `published_rows` returns, or None to leave them out (on data that is not the benchmark's
            they compare with nothing).
        contamination: task → sentences of the model's corpus that were taken out for it, where that is known.
    """
    summary = summarize(rows)
    tasks = [name for name in TASKS if any(entry["task"] == name for entry in summary)]
    aside = apart(summary)
    published_in = [] if published is None else [name for name in tasks if name not in aside]
    columns, extra = [], []
    for name in tasks:
        columns += [(name, metric) for metric in TASKS[name].metrics]
        again = [(name, metric) for metric in TASKS[name].as_published.values()]
        columns += again if name in published_in else []
        extra += [] if name in published_in else [(*one, "best") for one in again]
        extra += [(name, metric, "best") for metric in TASKS[name].extra_metrics]
    extra += [(name, TASKS[name].selection, "last") for name in tasks]
    data_notes = {name: note for name in tasks if (note := _data_note(summary, name))}
    for name, why in aside.items():
        data_notes.setdefault(name, why)
    data_notes = {name: data_notes[name] for name in tasks if name in data_notes}
    marks = {name: "*" * number for number, name in enumerate(data_notes, start=1)}
    header = []
    for name, metric in columns:
        split = " (split of dev)" if "split of dev" in data_notes.get(name, "") else ""
        header.append(f"{TASKS[name].title} {metrics_of(name)[metric]}{split}{marks.get(name, '')}")
    lines, beside = [], []
    for init, title in TITLES.items():
        entries = {entry["task"]: entry for entry in summary if entry["init"] == init}
        if entries:
            seeds = sorted({entry["n"] for entry in entries.values()})
            cells = [_cell(entries.get(name), metric) for name, metric in columns]
            values = [_value(entries.get(name), metric) for name, metric in columns]
            models = dict.fromkeys(entry["model"] for entry in entries.values() if entry["model"])
            lines.append(Line(", ".join([*models, title]), init, "–".join(map(str, seeds)), cells, values))
            beside.append([_cell(entries.get(name), metric, which) for name, metric, which in extra])
    published_lines, flags = _published_lines(published, published_in, columns)
    lines += published_lines
    notes = [CAPTION]
    if published:
        notes.append(f"published: {published['source']}." if published_lines else NONE_BESIDE)
    notes += [f"{mark} {text}." for mark, text in flags.items()]
    if published_lines and aside:
        left_out = ", ".join(f"{TASKS[name].title} ({aside[name]})" for name in tasks if name in aside)
        notes.append(f"No published scores beside {left_out}.")
    if any("as published" in name for name in header):
        notes.append(AS_PUBLISHED)
    notes += [f"{marks[name]} {TASKS[name].title}: {note}." for name, note in data_notes.items()]
    notes += [
        f"{TASKS[entry['task']].title}, {TITLES[entry['init']]}: the best of {entry['tried']} sets of training values, "
        f"chosen on dev, as in the paper: {values_text(entry['settings'])}."
        for entry in summary
        if entry["tried"] > 1
    ]
    if any(entry["settings"].get("pos_tags") is False for entry in summary if entry["task"] == "klue-dp"):
        notes.append("KLUE-DP: without gold parts of speech, which the published rows have.")
    if contamination:
        found = ", ".join(f"{TASKS[n].title if n in TASKS else n} {count:,}" for n, count in contamination.items())
        notes.append(f"Sentences of the corpus taken out because they stand in a task's data, or all but: {found}.")
    names = [
        f"{TASKS[name].title} {metrics_of(name)[metric]}{', last evaluation' if which == 'last' else ''}"
        for name, metric, which in extra
    ]
    beside_them = [(name, [line[i] for line in beside]) for i, name in enumerate(names)]
    numbers = frozenset(number for number, (name, _) in enumerate(columns) if name in aside)
    return Scores(header, lines, notes, beside_them, numbers)


def _published_lines(
    published: dict[str, Any] | None, tasks: Sequence[str], columns: Sequence[tuple[str, str]]
) -> tuple[list[Line], dict[str, str]]:
    """Return the published models' lines, and the text of each mark in them.

    Args:
        published: see `tabulate`.
        tasks: those that their scores may stand beside.
        columns: task and metric of each; a published score stands in that of the metric as published, if there is one.
    """
    if not published or not tasks:
        return [], {}
    marks: dict[str, str] = {}
    place = {(n, TASKS[n].as_published.get(metric, metric)): metric for n in tasks for metric in TASKS[n].metrics}
    lines = []
    for model in published["rows"]:
        cells: list[str] = []
        values: list[float | None] = []
        flagged = set()
        for number, (name, key) in enumerate(columns):
            metric = place.get((name, key))
            value = None if metric is None else model["scores"].get(name, {}).get(metric)
            flag = None if metric is None else model.get("flags", {}).get(name, {}).get(metric)
            if flag:
                flagged.add(number)
                marks.setdefault(flag, FLAG_MARKS[len(marks)])
            values.append(value)
            cells.append(_number(value) + (marks[flag] if flag else ""))
        lines.append(Line(f"published: {model['model']}", "", "", cells, values, frozenset(flagged)))
    return lines, {mark: published["flags"][flag] for flag, mark in marks.items()}


def _data_note(summary: Sequence[dict[str, Any]], task: str) -> str:
    """Return what must be said of the data where a task's scores stand."""
    notes = {entry["init"]: entry["data_note"] for entry in summary if entry["task"] == task}
    if len(set(notes.values())) == 1:
        return str(next(iter(notes.values())))
    return "; ".join(f"{TITLES[init]}: {note or 'all of the data'}" for init, note in notes.items())


def results_table(
    rows: Sequence[dict[str, Any]],
    published: dict[str, Any] | None = None,
    width: int = 120,
    contamination: Mapping[str, int] | None = None,
) -> Table:
    """Return the results as a table for the terminal, a metric a row, the best in bold; see `tabulate`.

    Args:
        rows: result rows of jobs.
        published: what `published_rows` returns, or None.
        width: columns of the terminal; fewer published models stand in fewer.
        contamination: see `tabulate`.
    """
    scores = tabulate(rows, published, contamination)
    ours = [line for line in scores.lines if line.seeds]
    beside = [line for line in scores.lines if line.title.startswith(f"published: {BESIDE}")]
    room = (width - 2 - METRIC_WIDTH - 17 * len(ours)) // 11
    shown = ours + beside[: max(0, room)]
    notes = list(scores.notes)
    if len(shown) < len(scores.lines):
        notes.append(f"{len(scores.lines) - len(shown)} more published models: hunmin klue report --format markdown.")
    table = Table(title="KLUE", title_justify="left", caption="\n".join(notes), caption_justify="left")
    table.add_column("metric")
    for line in shown:
        title = escape(line.title.removeprefix("published: ")).replace("-", "-\n", 2).replace(" ", "\n")
        seeds = f"\n{line.seeds} seed{'' if line.seeds == '1' else 's'}" if line.seeds else ""
        table.add_column(title + seeds, justify="right", style="" if line.seeds else "dim")
    styled = [_with_best(scores, line, "[bold]{}[/]") for line in shown]
    for number, column in enumerate(scores.columns):
        table.add_row(column, *(cells[number] for cells in styled))
    if scores.extra:
        table.add_section()
    for name, cells in scores.extra:
        table.add_row(name, *cells, *["–"] * (len(shown) - len(cells)), style="dim")
    return table


def markdown(
    rows: Sequence[dict[str, Any]],
    published: dict[str, Any] | None = None,
    contamination: Mapping[str, int] | None = None,
) -> str:
    """Return the results as Markdown, a model a row, the best of each column in bold, notes below; see `tabulate`."""
    scores = tabulate(rows, published, contamination)
    columns = [_escaped(name) for name in ("model", "seeds", *scores.columns)]
    body = [[_escaped(line.title), line.seeds, *_with_best(scores, line, "**{}**")] for line in scores.lines]
    text = [_line(columns), _line(["---", *["---:"] * (len(columns) - 1)]), *map(_line, body), ""]
    if scores.extra:
        titles = [_escaped(line.title) for line in scores.lines if line.seeds]
        text += [_line(["beside the paper's metrics", *titles]), _line(["---", *["---:"] * len(titles)])]
        text += [*(_line([name, *cells]) for name, cells in scores.extra), ""]
    return "\n".join([*text, *(f"{_escaped(note)}\n" for note in scores.notes)])


def latex(
    rows: Sequence[dict[str, Any]],
    published: dict[str, Any] | None = None,
    contamination: Mapping[str, int] | None = None,
) -> str:
    """Return the results as a LaTeX table (packages booktabs and graphicx), the best in bold; see `tabulate`."""
    scores = tabulate(rows, published, contamination)
    body = [
        " & ".join([_tex(line.title), line.seeds, *(_tex(cell) for cell in _with_best(scores, line, "\\textbf{{{}}}"))])
        for line in scores.lines
    ]
    ours = sum(bool(line.seeds) for line in scores.lines)
    if 0 < ours < len(body):
        body[ours] = f"\\midrule\n{body[ours]}"
    return "\n".join(
        [
            "\\begin{table*}\\centering",
            f"\\resizebox{{\\textwidth}}{{!}}{{\\begin{{tabular}}{{lr{'r' * len(scores.columns)}}}",
            "\\toprule",
            " & ".join(_tex(name) for name in ("model", "seeds", *scores.columns)) + " \\\\",
            "\\midrule",
            *(f"{line} \\\\" for line in body),
            "\\bottomrule",
            "\\end{tabular}}",
            f"\\caption{{{_tex(' '.join(scores.notes))}}}",
            "\\end{table*}\n",
        ]
    )


def as_tree(
    rows: Sequence[dict[str, Any]],
    published: dict[str, Any] | None = None,
    contamination: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return the results as a JSON-like tree: {"rows", "summary", "published", "contamination"}; see `tabulate`.

    The summary has mean and standard deviation over seeds, and of a search the best values on dev.
    """
    known = dict(contamination or {})
    return {"rows": list(rows), "summary": summarize(rows), "published": published, "contamination": known}


def _with_best(scores: Scores, line: Line, form: str) -> list[str]:
    return [
        form.format(cell) if number not in line.flagged and value is not None and value == scores.best(number) else cell
        for number, (cell, value) in enumerate(zip(line.cells, line.values, strict=True))
    ]


def _escaped(text: str) -> str:
    return re.sub(r"([*|])", r"\\\1", text)


def _tex(text: str) -> str:
    text = re.sub(r"([&%#_])", r"\\\1", text)
    signs = {"±": "$\\pm$", "×": "$\\times$", "–": "--", "*": "$^*$", "†": "$^\\dagger$", "‡": "$^\\ddagger$"}
    return "".join(signs.get(character, character) for character in text)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _value(entry: dict[str, Any] | None, metric: str) -> float | None:
    return None if entry is None else entry["best"][metric]["mean"]


def _cell(entry: dict[str, Any] | None, metric: str, which: str = "best") -> str:
    if entry is None:
        return "–"
    found = entry[which][metric]
    if found["mean"] is None:
        return "undefined"
    return f"{found['mean']:.2f}" + (f" ± {found['sd']:.2f}" if found["sd"] is not None else "")


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """Return the result rows of a finished klue folder.

    Raises:
        UserError: the folder holds no results.jsonl, or one that is damaged or empty.
    """
    path = folder / "results.jsonl"
    if not path.is_file():
        raise UserError(
            f"{folder} holds no results.jsonl", "scores are read from a finished klue folder", "hunmin klue finetune"
        )
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        tabulate(rows)  # what a row must hold
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(
            f"{path} is damaged", "a line is a job's result", "run klue finetune again: finished jobs are kept"
        ) from None
    if not rows:
        raise UserError(f"{path} holds no results", "scores are read from a finished klue folder")
    return rows
