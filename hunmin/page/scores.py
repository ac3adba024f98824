"""Scores on the page: a metric a row, with the gain over random weights, each seed, and published models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from common.message import Message
from hunmin.page.charts import Chart, Series, line_chart
from hunmin.page.curves import Curve
from hunmin.page.facts import Facts, Klue
from hunmin.page.tables import NONE, Table, signed
from hunmin.page.words import Words
from klue.results import chosen, metrics_of, sort_rows, summarize
from klue.synthetic import TOLD, all_synthetic
from klue.tables import Line, Scores, tables
from klue.tasks import TASKS

NEAR = 2.5
"""Points between two dots from which both are seen; a dot is 10 pixels wide, 100 points are 220 to 450."""
INITS = {"pretrained": "pretrained", "random": "random weights"}


@dataclass(frozen=True)
class Row:
    """A metric: the run's scores, and those of published models for the marks beside them."""

    name: str
    means: dict[str, str]
    """Initialisation → mean over seeds."""
    spreads: dict[str, str]
    """Initialisation → standard deviation; of two seeds both scores."""
    seeds: dict[str, list[float]]
    dots: list[tuple[str, float, int]]
    """(initialisation, score, place) of each seed; dots that would cover one another have other places, from 0."""
    gain: str
    apart: bool
    """The seeds of both initialisations do not overlap."""
    published: list[tuple[str, float]]

    @property
    def places(self) -> int:
        """Return how many places the dots take, one above another."""
        return max((place for _, _, place in self.dots), default=0) + 1


def view(facts: Facts, words: Words) -> dict[str, Any]:
    """Return the values for the section's template."""
    klue, stage = facts.klue, facts.stage("klue")
    notice = ""
    if klue.jobs is not None:
        notice = words("{done} of {jobs:fine-tuning} are done.", done=len(klue.rows), jobs=klue.jobs)
    elif stage.state == "outdated" and klue.rows:
        notice = words("These scores belong to an earlier state of the run. Run it again to update them.")
    skipped = "Skipped: the recipe has no klue section."
    nothing = skipped if stage.counts.get("skipped") else "There are no scores yet."
    return {
        "title": title(klue.rows, words),
        "notice": notice,
        "nothing": "" if klue.rows or klue.jobs is not None else words(nothing),
        "suites": [_suite(table, klue, words) for table in tables(klue.rows, klue.published, klue.contamination)],
        "seeds": _seeds(klue, words) if klue.rows else None,
        "watched": [_curve(klue.watched, task, words) for task in dict.fromkeys(row["task"] for row in klue.watched)],
    }


def title(rows: list[dict[str, Any]], words: Words) -> str:
    """Return the title of the section."""
    return words("Scores of synthetic tasks" if all_synthetic(rows) else "Scores")


def means(klue: Klue) -> dict[str, dict[str, float]]:
    """Return task → initialisation → mean of the metric that its evaluations are chosen by; "as published" aside."""
    known: dict[str, dict[str, float]] = {}
    for entry in summarize(klue.rows):
        score = entry.get("test", entry["best"])[TASKS[entry["task"]].selection]["mean"]
        if score is not None:
            known.setdefault(entry["task"], {})[entry["init"]] = score
    return known


def single_seed(klue: Klue) -> bool:
    """Return whether a score that is set against random weights is of one seed, which tells no gain from noise."""
    both = [name for name, by_init in means(klue).items() if len(by_init) == 2]
    return any(entry["n"] == 1 for entry in summarize(klue.rows) if entry["task"] in both)


def notes(table: Scores, words: Words) -> list[str]:
    """Return the notes below a table; that its data are synthetic stands above."""
    return [words(note) for note in table.notes if note != TOLD]


def _suite(table: Scores, klue: Klue, words: Words) -> dict[str, Any]:
    lines = {line.init: line for line in table.lines if line.init}
    others = [line for line in table.lines if not line.init]
    rows = [_row(table, at, lines, others, klue, words) for at in range(len(table.columns))]
    head = [words("metric"), *(words(INITS[init]) for init in lines)]
    extra = [[metric_name(name, words), *cells] for name, cells in table.extra]
    return {
        "title": words(table.title),
        "rows": rows,
        "seeds": {init: line.seeds for init, line in lines.items()},
        "overlap": any(row.gain != NONE and not row.apart for row in rows),
        "published": _published(table, lines.get("pretrained"), others, words),
        "extra": Table(words("More metrics"), head, extra),
        "notes": notes(table, words),
    }


def _row(table: Scores, at: int, lines: dict[str, Line], others: list[Line], klue: Klue, words: Words) -> Row:
    task, metric, which = table.keys[at]
    seeds: dict[str, list[float]] = {}
    for group, _ in chosen(klue.rows):
        if group[0]["task"] == task:
            values = [(row.get(which) or {}).get(metric) for row in group]
            seeds[group[0]["init"]] = [value for value in values if value is not None]
    cells = {init: line.cells[at].partition(" ± ") for init, line in lines.items() if line.cells[at] != NONE}
    both = [seeds[init] for init in INITS if lines.get(init) and lines[init].values[at] is not None]
    gain = lines["pretrained"].values[at] - lines["random"].values[at] if len(both) == 2 else None  # type: ignore[operator]
    return Row(
        metric_name(table.columns[at], words),
        {init: words(mean) for init, (mean, _, _) in cells.items()},
        {
            init: " · ".join(f"{score:.2f}" for score in seeds[init]) if len(seeds[init]) == 2 else f"± {spread}"
            for init, (_, _, spread) in cells.items()
            if spread
        },
        seeds,
        _dots(seeds),
        NONE if gain is None else signed(gain),
        len(both) == 2 and min(map(len, both)) > 1 and (min(both[0]) > max(both[1]) or max(both[0]) < min(both[1])),
        [
            (line.title.removeprefix("published: "), value)
            for line in others
            if (value := line.values[at]) is not None and at not in line.flagged
        ],
    )


def _dots(seeds: dict[str, list[float]]) -> list[tuple[str, float, int]]:
    dots: list[tuple[str, float, int]] = []
    last: list[float] = []  # of each place
    for value, init in sorted((value, init) for init, values in seeds.items() for value in values):
        place = next((at for at, before in enumerate(last) if value - before >= NEAR), len(last))
        last[place : place + 1] = [value]
        dots.append((init, value, place))
    return dots


def _published(table: Scores, ours: Line | None, others: list[Line], words: Words) -> Table | None:
    """Return the run beside published models, the best of each metric in bold."""
    if not others:
        return None
    rows = []
    for at, column in enumerate(table.columns):
        best, cells = table.best(at), []
        for line in [*([ours] if ours else []), *others]:
            bold = best is not None and line.values[at] == best and at not in line.flagged
            cells.append("*" * bold + line.cells[at].partition(" ±")[0])
        rows.append([metric_name(column, words), *cells])
    head = [words("metric"), *([words("this model")] if ours else [])]
    return Table(words("Published models"), [*head, *(line.title.removeprefix("published: ") for line in others)], rows)


def metric_name(column: str, words: Words) -> str:
    """Return the name of a column of scores; that its data are synthetic stands above the table."""
    return words(column).replace(" (synthetic)", "")


def _title(task: str, metric: str, words: Words) -> str:
    return words(Message("{task} {metric}", task=TASKS[task].title, metric=metric))


def _seeds(klue: Klue, words: Words) -> Table:
    rows = sort_rows(klue.rows)
    seeds = sorted({row["seed"] for row in rows})
    lines: dict[tuple[str, ...], dict[int, float | None]] = {}
    for row in rows:
        for metric, name in TASKS[row["task"]].metrics.items():
            key = (_title(row["task"], name, words), words(INITS[row["init"]]))
            by_seed = lines.setdefault((*key, str(row["settings"]["learning_rate"])), {})
            by_seed[row["seed"]] = row["best"][metric]
    shown = [
        [*key, *(None if (value := by_seed.get(seed)) is None else f"{value:.2f}" for seed in seeds)]
        for key, by_seed in lines.items()
    ]
    head = [words("metric"), words("initial weights"), words("learning rate")]
    head += [words("seed {seed}", seed=str(seed)) for seed in seeds]
    return Table(words("Scores of each seed"), head, shown)


def _curve(rows: list[dict[str, Any]], task: str, words: Words) -> Chart | None:
    metric, series = TASKS[task].selection, []
    for init, label in INITS.items():
        mine = sorted((row for row in rows if (row["task"], row["init"]) == (task, init)), key=lambda row: row["step"])
        if mine:
            tokens_P = np.array([row["tokens"] or row["step"] for row in mine], float)
            means_of = [row["best"][metric]["mean"] for row in mine]
            series.append(
                Series(words(label), Curve(tokens_P, np.array([np.nan if v is None else v for v in means_of])))
            )
    name = _title(task, metrics_of(task)[metric], words)
    return line_chart(words, f"watch-{task}", name, series, "score × 100", "tokens", "{:.2f}")
