"""Result rows as scores in columns and lines, a table a suite; the published rows beside ours, never an average."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.differing import unequal_note
from common.message import Message
from klue.collapse import collapse_sentences
from klue.grid import RAISED
from klue.results import TITLES, metrics_of, not_comparable, summarize, unequal
from klue.settings import AUTHORS_PARSER_WIDTH
from klue.synthetic import NOTE, TOLD, all_synthetic, synthetic_tasks
from klue.tasks import SUITE_OF, SUITES, TASKS, Suite
from klue.training import values_text

Rows = Sequence[dict[str, Any]]
"""Result rows of jobs."""
Published = dict[str, Any] | None
"""What `published_rows` returns; None to leave them out."""
Counts = Mapping[str, int] | None
"""Task → sentences of a corpus; None where that is not known."""
AS_PUBLISHED = (
    "as published: what the authors' code makes of the same outputs, where ours makes something else of them; "
    "only beside that do published scores stand (docs/klue.md)."
)
NONE_BESIDE = "No published scores: no task was trained and scored on the whole of its data."
WITHOUT_TAGS = "without gold parts of speech, which the published rows have"
PARSER = "a parser {width} wide; the authors' is {theirs}"
TEXTS_ALONE = "the decoder learned the values of slots with a text alone, not of all as the authors' does"
FLAG_MARKS = "†‡§¶"
"""Marks of doubtful published scores."""
UNDEFINED = "undefined"
"""Cell of a score that is no number."""
DECONTAMINATED = (
    "Decontamination: corpus sentences removed per task, which equal, resemble or contain one of its: {found}."
)
NOTHING_TAKEN_OUT = "No sentence of the corpus was taken out for {suite}: none was there, or it was not cleaned of it."
NOT_KNOWN = "Whether the models' corpora were cleaned of the texts of {suite} is not known here."
SEARCHED = "{task}, {init}: the best of {tried} sets of training values, chosen on dev, as in the paper: {values}."


@dataclass(frozen=True)
class Line:
    """A model's scores, one a column; None where there is none."""

    title: str
    init: str
    """Empty for published scores."""
    seeds: str
    """Number of seeds; empty for published scores."""
    cells: list[str]
    values: list[float | None]
    flagged: frozenset[int] = frozenset()
    """Columns whose score is doubtful: it is never the best."""
    model: str = ""
    """Name of our model; empty for published scores."""


@dataclass(frozen=True)
class Scores:
    """Scores as a table shows them."""

    suite: Suite
    columns: list[str]
    lines: list[Line]
    notes: list[str]
    extra: list[tuple[str, list[str]]]
    """Metrics beside the paper's, and those by which evaluations are chosen at the end of training: their names, and
    ours in the order of the lines."""
    unranked: frozenset[int] = frozenset()
    """Columns in which no score is the best: of tasks that are split or cut, or whose rows differ in settings."""
    title: str = ""
    """Title of the table: the suite's, or that its tasks are synthetic."""
    keys: tuple[tuple[str, str, str], ...] = ()
    """Task, metric and "best" or "test" of each column, as result rows name them."""
    collapsed: int = 0
    """How many of the first notes are of fine-tunings that predict one label."""

    def best(self, column: int) -> float | None:
        """Return the highest score of a column, of those that can be compared; None where none can."""
        if column in self.unranked:
            return None
        values = [line.values[column] for line in self.lines if column not in line.flagged]
        return max((value for value in values if value is not None), default=None)


def published_rows() -> dict[str, Any]:
    """Return the paper's dev scores, and under `suites` the published scores of other suites, by their names. Each is
    {"source", "flags": {flag: text}, "rows": [{"model", "scores": {task: {metric: number}}, "flags": {task: {metric:
    flag}}}]}, with flags where a score is doubtful."""
    return json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))


def published_for(rows: Sequence[dict[str, Any]], enabled: bool = True) -> dict[str, Any] | None:
    """Return `published_rows`, or None where they are not wanted or every task's data are synthetic."""
    return published_rows() if enabled and not all_synthetic(rows) else None


def tables(rows: Rows, published: Published = None, contamination: Counts = None) -> list[Scores]:
    """Return the scores of result rows, a table for each suite that they are of; see `tabulate`."""
    suites = {SUITE_OF[row["task"]] for row in rows}
    return [tabulate(rows, published, contamination, suite) for suite in SUITES if suite in suites]


def tabulate(rows: Rows, published: Published = None, contamination: Counts = None, suite: str | None = None) -> Scores:
    """Return a suite's scores (None: the first of the rows'): a column a metric, a line a model and initialisation.
    Published scores compare with nothing on data that is not the benchmark's; None leaves them out."""
    chosen = SUITES[suite or next((name for name in SUITES if any(SUITE_OF[r["task"]] == name for r in rows)), "klue")]
    summary = [entry for entry in summarize(rows) if SUITE_OF[entry["task"]] == chosen.name]
    invented = synthetic_tasks(summary)
    published = None if all_synthetic(summary) else published
    beside_it = published if published is None or chosen.name == "klue" else published["suites"].get(chosen.name)
    tasks = [name for name in TASKS if any(entry["task"] == name for entry in summary)]
    titles = {name: TASKS[name].title for name in tasks}
    incomparable = not_comparable(summary)
    published_in = [] if beside_it is None else [name for name in tasks if name not in incomparable]
    columns, extra = [], []
    for name in tasks:
        shown = "test" if any("test" in entry for entry in summary if entry["task"] == name) else "best"
        columns += [(name, metric, shown) for metric in TASKS[name].metrics]
        again = [(name, metric, "best") for metric in TASKS[name].as_published.values()]
        columns += again if name in published_in else []
        extra += [] if name in published_in else again
        extra += [(name, metric, shown) for metric in TASKS[name].extra_metrics]
        extra += [(name, metric, "best") for metric in TASKS[name].metrics if shown == "test"]
    extra += [(name, TASKS[name].selection, "last") for name in tasks]
    reasons = {name: _data_note(summary, name) or incomparable.get(name, "") for name in tasks}
    data_notes = {name: why for name, why in reasons.items() if why not in ("", NOTE, "synthetic")}
    marks = {name: raised(number) for number, name in enumerate(data_notes, start=1)}
    header: list[str] = []
    for name, metric, shown in columns:
        task_notes = [entry["data_note"] for entry in summary if entry["task"] == name]
        split = " (split of dev)" if all("split of dev" in note for note in task_notes) else ""
        split = " (synthetic)" if name in invented else split
        title = _title(name, metric, shown, chosen)
        header.append(Message("{title}{split}{mark}", title=title, split=split, mark=marks.get(name, "")))
    lines, beside = [], []
    for model in dict.fromkeys(entry["model"] for entry in summary):
        for init in TITLES:
            entries = {e["task"]: e for e in summary if (e["model"], e["init"]) == (model, init)}
            if entries:
                seeds = sorted({entry["n"] for entry in entries.values()})
                column_scores, extra_scores = (
                    [entries.get(name, {}).get(shown, {}).get(metric) for name, metric, shown in part]
                    for part in (columns, extra)
                )
                values = [score and score["mean"] for score in column_scores]
                cells = [*map(cell, column_scores)]
                lines.append(
                    Line(model_title(model, init), init, "–".join(map(str, seeds)), cells, values, model=model)
                )
                beside.append([*map(cell, extra_scores)])
    published_lines, flags = _published_lines(beside_it, published_in, columns)
    lines += published_lines
    collapsed = collapse_sentences(summary)
    notes = [*([TOLD] if invented else []), *collapsed, chosen.caption]
    if beside_it:
        notes.append(Message("published: {source}.", source=beside_it["source"]) if published_lines else NONE_BESIDE)
    notes += [Message("{mark} {text}.", mark=mark, text=text) for mark, text in flags.items()]
    if published_lines and incomparable:
        left_out = [Message("{task} ({why})", task=titles[n], why=incomparable[n]) for n in tasks if n in incomparable]
        notes.append(Message("No published scores beside {tasks}.", tasks=left_out))
    if any("as published" in name for name in header):
        notes.append(AS_PUBLISHED)
    notes += [Message("{mark} {task}: {note}.", mark=marks[n], task=titles[n], note=data_notes[n]) for n in marks]
    if looks := _evaluation_counts(summary, {name for name, _, shown in columns if shown == "best"}):
        notes.append(Message("Each score is the best of this number of dev evaluations: {looks}.", looks=looks))
    others_way = _other_than_the_authors(summary)
    notes += [note for _, note in others_way]
    differ = unequal(summary)
    notes += unequal_note({titles[name]: names for name, names in differ.items()})
    removed = {n: c for n, c in (contamination or {}).items() if SUITE_OF.get(n, "klue") == chosen.name}
    if removed:
        counts = [
            Message("{task} {count}", task=TASKS[n].title if n in TASKS else n, count=removed[n]) for n in removed
        ]
        notes.append(Message(DECONTAMINATED, found=counts))
    elif contamination:
        notes.append(Message(NOTHING_TAKEN_OUT, suite=chosen.title))
    elif chosen.name != "klue":
        notes.append(Message(NOT_KNOWN, suite=chosen.title))
    notes += [
        Message(
            SEARCHED,
            task=titles[entry["task"]],
            init=TITLES[entry["init"]],
            tried=entry["tried"],
            values=values_text(entry["settings"]),
        )
        for entry in summary
        if entry["tried"] > 1
    ]
    names = [_title(name, metric, shown, chosen) for name, metric, shown in extra]
    beside_them = [(name, [line[i] for line in beside]) for i, name in enumerate(names)]
    unranked = {*incomparable, *differ, *(name for name, _ in others_way if published_lines)}
    numbers = frozenset(number for number, (name, _, _) in enumerate(columns) if name in unranked)
    all_invented = invented and set(tasks) <= invented
    title = Message("Synthetic tasks in the form of {suite}'s", suite=chosen.title) if all_invented else chosen.title
    return Scores(chosen, header, lines, notes, beside_them, numbers, title, tuple(columns), len(collapsed))


def model_title(model: str, init: str) -> str:
    """Return what a model is called with its initialisation, and the initialisation alone where it has no name."""
    return f"{model}, {TITLES[init]}" if model else TITLES[init]


def raised(number: int) -> str:
    """Return a number as a note's mark: "¹²" of 12."""
    return "".join(RAISED[int(digit)] for digit in str(number))


def unmarked(name: str) -> str:
    """Return a column's name without the mark of its note."""
    return name.rstrip(RAISED)


def _title(task: str, metric: str, split: str, suite: Suite) -> str:
    title = Message("{task} {metric}", task=TASKS[task].title, metric=metrics_of(task)[metric])
    if suite.name != "klue":
        title = Message("{title}, test" if split == "test" else "{title}, dev", title=title)
    return Message("{title}, last evaluation", title=title) if split == "last" else title


def _evaluation_counts(summary: Sequence[dict[str, Any]], tasks: set[str]) -> list[str]:
    """Return how many dev evaluations each task's best was chosen from; "at most" where training ends early."""
    evaluations: dict[str, set[int]] = {}
    early: set[str] = set()
    for entry in summary:
        settings = entry["settings"]
        if entry["task"] in tasks and "evaluations_per_epoch" in settings:
            looks = settings["epochs"] * settings["evaluations_per_epoch"] * entry["tried"]
            evaluations.setdefault(entry["task"], set()).add(looks)
            if settings.get("patience"):
                early.add(entry["task"])
    looks = {name: "–".join(map(str, sorted(counts))) for name, counts in evaluations.items()}
    return [
        Message("{task} at most {count}" if name in early else "{task} {count}", task=TASKS[name].title, count=count)
        for name, count in looks.items()
    ]


def _published_lines(
    published: Published, tasks: Sequence[str], columns: Sequence[tuple[str, ...]]
) -> tuple[list[Line], dict[str, str]]:
    """Return the published models' lines, and the text of each mark in them. A published score stands in the column of
    the metric as published, if there is one."""
    if not published or not tasks:
        return [], {}
    marks: dict[str, str] = {}
    place = {(n, TASKS[n].as_published.get(metric, metric)): metric for n in tasks for metric in TASKS[n].metrics}
    lines = []
    for model in published["rows"]:
        cells: list[str] = []
        values: list[float | None] = []
        flagged = set()
        for number, (name, key, _) in enumerate(columns):
            metric = place.get((name, key))
            value, flag = (model.get(kind, {}).get(name, {}).get(metric) for kind in ("scores", "flags"))
            if flag:
                flagged.add(number)
                marks.setdefault(flag, FLAG_MARKS[len(marks)])
            values.append(value)
            cells.append(_number(value) + (marks[flag] if flag else ""))
        lines.append(Line(f"published: {model['model']}", "", "", cells, values, frozenset(flagged)))
    return lines, {mark: published["flags"][flag] for flag, mark in marks.items()}


def _other_than_the_authors(summary: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return (task, note) of models that were not fine-tuned as the authors', and of which if not of all."""
    said: dict[tuple[str, str], list[str]] = {}
    for entry in summary:
        task, settings = entry["task"], entry["settings"]
        width = settings.get("parser_width") or AUTHORS_PARSER_WIDTH
        notes = {
            WITHOUT_TAGS: task == "klue-dp" and settings.get("pos_tags") is False,
            Message(PARSER, width=width, theirs=AUTHORS_PARSER_WIDTH): width != AUTHORS_PARSER_WIDTH,
            TEXTS_ALONE: task == "wos" and settings.get("texts_only"),
        }
        if metric := settings.get("metric_for_best_model"):
            notes[Message("evaluations chosen by {metric}", metric=metrics_of(task)[metric])] = True
        for note in (note for note, holds in notes.items() if holds):
            whose = Message("{model}, {init}", model=entry["model"], init=TITLES[entry["init"]])
            said.setdefault((task, note), []).append(whose)
    totals = Counter(entry["task"] for entry in summary)
    return [
        (
            task,
            Message(
                "{task}: {note}." if len(models) == totals[task] else "{task}: {note} ({rest:; }).",
                task=TASKS[task].title,
                note=note,
                rest=models,
            ),
        )
        for (task, note), models in said.items()
    ]


def _data_note(summary: Sequence[dict[str, Any]], task: str) -> str:
    """Return the note on a task's data: once if it is so for all, else by model and initialisation."""
    notes = {(entry["model"], entry["init"]): entry["data_note"] for entry in summary if entry["task"] == task}
    if len(set(notes.values())) == 1:
        return next(iter(notes.values()))
    several = len({model for model, _ in notes}) > 1
    text = "{model}, {init}: {note}" if several else "{init}: {note}"
    parts = [
        Message(text, model=model, init=TITLES[init], note=note or "all of the data")
        for (model, init), note in notes.items()
    ]
    return Message("{notes:; }", notes=parts)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def cell(score: dict[str, Any] | None) -> str:
    """Return mean ± standard deviation, as `klue.results.spread` gives them; a dash for none."""
    if score is None:
        return "–"
    if score["mean"] is None:
        return UNDEFINED
    return f"{score['mean']:.2f}" + (f" ± {score['sd']:.2f}" if score["sd"] is not None else "")
