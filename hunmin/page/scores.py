"""Scores on the page: a metric a row, the run's models and the published ones in columns, the caveats below."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from hunmin.page import markup
from hunmin.page.charts import Dots, Series, dot_chart, line_chart
from hunmin.page.curves import Curve
from hunmin.page.facts import Facts, Klue
from hunmin.scores import NOT_SCORED
from klue.results import metrics_of, sort_rows
from klue.synthetic import all_synthetic
from klue.tables import Line, Scores, tables, unmarked
from klue.tasks import SUITE_OF, TASKS

NARROW = 3
"""Models whose columns leave room for the chart beside the table."""
INITS = {"pretrained": "pretrained", "random": "random initialisation"}


def scores(facts: Facts) -> Markup:
    """Return the section; it says so where there are no scores yet."""
    found, stage = facts.klue, facts.stage("klue")
    parts: list[object] = []
    if found.jobs is not None:
        parts.append(markup.paragraph(f"{len(found.rows):,} of {found.jobs:,} fine-tunings are done.", "warning"))
    elif stage.state == "outdated":
        parts.append(
            markup.paragraph("These scores are of an earlier state of the run; they are to be done again.", "warning")
        )
    if found.rows:
        suites = tables(found.rows, found.published, found.contamination)
        for table in suites:
            beside = Markup('<div class="{}">{}{}</div>').format(
                "beside" if len(table.lines) <= NARROW else "",
                _chart(table),
                Markup('<div class="scores">{}</div>').format(_table(table)),
            )
            shown = (beside, markup.notes(table.notes))
            parts += shown if len(suites) == 1 else [markup.block(table.title, markup.join(shown))]
        parts.append(markup.details("Each seed's scores", _seeds(found)))
    elif not parts:
        skipped = stage.counts.get("skipped")
        parts.append(markup.paragraph(f"{NOT_SCORED.capitalize()}." if skipped else "There are no scores yet."))
    others = any(SUITE_OF[row["task"]] != "klue" for row in found.rows)
    invented = all_synthetic(found.rows)
    title = "Scores of synthetic tasks" if invented else "Scores" if others else "KLUE scores, dev sets"
    return markup.section("scores", title, *parts, _watched(found))


def _chart(table: Scores) -> Markup:
    ours = [line for line in table.lines if line.init]
    published = [Dots(line.title, line.values) for line in table.lines if not line.init]
    kinds = [Dots(INITS[line.init], line.values, [_spread(cell) for cell in line.cells]) for line in ours]
    return dot_chart(
        "scores-chart" if table.suite.name == "klue" else f"scores-chart-{table.suite.name}",
        "Scores at a glance",
        [unmarked(name.partition(" (")[0]) for name in table.columns],
        kinds,
        published,
    )


def _spread(cell: str) -> float:
    """Return the standard deviation in a cell; 0 where it has none."""
    return float(cell.partition("±")[2] or 0)


def _table(table: Scores) -> Markup:
    head: list[object] = ["metric", *(_title(line) for line in table.lines)]
    rows: list[list[object]] = [
        [column, *(_cell(table, line, at) for line in table.lines)] for at, column in enumerate(table.columns)
    ]
    ours = sum(bool(line.init) for line in table.lines)
    extra = [[name, *cells, *[None] * (len(table.lines) - ours)] for name, cells in table.extra]
    return markup.join(
        [
            markup.table(f"{table.title} scores", head, rows),
            markup.details(
                "Metrics beside the paper's, and the last evaluations",
                markup.table("More scores", head[: 1 + ours], [row[: 1 + ours] for row in extra]),
            ),
        ]
    )


def _title(line: Line) -> Markup:
    if not line.init:
        return Markup("{} <small>published</small>").format(line.title.removeprefix("published: "))
    seeds = f"{line.seeds} seed{'' if line.seeds == '1' else 's'}"
    return Markup("{} <small>{}</small>").format(line.title, seeds)


def _cell(table: Scores, line: Line, at: int) -> object:
    value = line.values[at]
    best = value is not None and value == table.best(at)
    return Markup("<strong>{}</strong>").format(line.cells[at]) if best else line.cells[at]


def _seeds(found: Klue) -> Markup:
    """Return the scores of each job: a metric and initialisation a row, a seed a column."""
    rows = sort_rows(found.rows)
    seeds = sorted({row["seed"] for row in rows})
    lines: dict[tuple[str, str, str, str], dict[int, float | None]] = {}
    for row in rows:
        values = str(row["settings"]["learning_rate"])
        for metric in TASKS[row["task"]].metrics:
            lines.setdefault((row["task"], metric, row["init"], values), {})[row["seed"]] = row["best"][metric]
    shown = [
        [f"{TASKS[task].title} {TASKS[task].metrics[metric]}", INITS[init], values,
         *(None if (value := by_seed.get(seed)) is None else f"{value:.2f}" for seed in seeds)]
        for (task, metric, init, values), by_seed in lines.items()
    ]  # fmt: skip
    return markup.table("Each seed's scores", ["metric", "initialisation", "learning rate", *seeds], shown, words=(1,))


def _watched(found: Klue) -> Markup:
    """Return a chart a task of the scores of checkpoints, where `hunmin klue watch` has made any."""
    charts = [_curve(found.watched, task) for task in TASKS if any(row["task"] == task for row in found.watched)]
    return markup.block("Score against tokens, of the checkpoints (hunmin klue watch)", markup.grid(*charts))


def _curve(rows: list[dict[str, Any]], task: str) -> Markup:
    metric = TASKS[task].selection
    series = []
    for init, title in INITS.items():
        mine = sorted((row for row in rows if (row["task"], row["init"]) == (task, init)), key=lambda row: row["step"])
        found = [row["best"][metric] for row in mine]
        if mine:
            tokens_P = np.array([row["tokens"] or row["step"] for row in mine], float)
            means_P = np.array([np.nan if one["mean"] is None else one["mean"] for one in found])
            spread_P = np.array([one["sd"] or 0.0 for one in found])
            series.append(Series(title, Curve(tokens_P, means_P), dots=True, spread_P=spread_P))
    title = f"{TASKS[task].title} {metrics_of(task)[metric]}"
    return line_chart(f"watch-{task}", title, series, "score × 100", x_label="tokens", shown="{:.2f}".format)
