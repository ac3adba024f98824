"""Scores on the page: a metric a row, with the gain over random weights, each seed, and published models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hunmin.page.charts import Chart, Series, line_chart
from hunmin.page.curves import Curve
from hunmin.page.facts import Facts, Klue
from hunmin.page.tables import NONE, Best, Table, signed
from hunmin.page.words import Words
from hunmin.scores import NOT_SCORED
from klue.results import chosen, metrics_of, sort_rows
from klue.synthetic import TOLD, all_synthetic
from klue.tables import Line, Scores, tables
from klue.tasks import TASKS

INITS = {"pretrained": "pretrained", "random": "random weights"}
FEW = 2
"""Seeds whose scores stand one by one, instead of their standard deviation."""


@dataclass(frozen=True)
class Score:
    """A model's score on a metric."""

    text: str
    beside: str
    """Standard deviation; of two seeds both scores."""
    mean: float | None
    seeds: list[float]


@dataclass(frozen=True)
class Row:
    """A metric."""

    name: str
    pretrained: Score | None
    random: Score | None
    gain: str
    apart: bool
    """No seed from random weights is as good as one after pretraining, or the other way round."""
    published: list[tuple[str, float]]
    """(model, score), for the marks beside the run's own."""


def view(facts: Facts, words: Words) -> dict[str, Any]:
    """Return what the template of the section shows."""
    found, stage = facts.klue, facts.stage("klue")
    notice = ""
    if found.jobs is not None:
        notice = words("{done} of {jobs} fine-tunings are done.", done=len(found.rows), jobs=found.jobs)
    elif stage.state == "outdated" and found.rows:
        notice = words("These scores belong to an earlier state of the run. Run it again to update them.")
    nothing = f"{NOT_SCORED.capitalize()}." if stage.counts.get("skipped") else "There are no scores yet."
    return {
        "notice": notice,
        "nothing": "" if found.rows or found.jobs is not None else words(nothing),
        "suites": [_suite(table, found, words) for table in tables(found.rows, found.published, found.contamination)],
        "seeds": _seeds(found, words) if found.rows else None,
        "watched": [_curve(found.watched, task, words) for task in dict.fromkeys(row["task"] for row in found.watched)],
    }


def title(rows: list[dict[str, Any]], words: Words) -> str:
    """Return the title of the section."""
    return words("Scores of synthetic tasks" if all_synthetic(rows) else "Scores")


def means(found: Klue) -> dict[str, dict[str, float]]:
    """Return task → initialisation → mean of the metric that its evaluations are chosen by; "as published" aside."""
    known: dict[str, dict[str, float]] = {}
    for group, _ in chosen(found.rows):
        task, init = group[0]["task"], group[0]["init"]
        which = "test" if all(row.get("test") for row in group) else "best"
        values = [row[which][TASKS[task].selection] for row in group]
        if None not in values:
            known.setdefault(task, {})[init] = float(np.mean(values))
    return known


def _suite(table: Scores, found: Klue, words: Words) -> dict[str, Any]:
    lines = {line.init: line for line in table.lines if line.init}
    others = [line for line in table.lines if not line.init]
    groups = {(group[0]["task"], group[0]["init"]): group for group, _ in chosen(found.rows)}
    rows = []
    for at, (column, (task, metric, which)) in enumerate(zip(table.columns, table.keys, strict=True)):
        scores = {
            init: _score(line, at, [(row.get(which) or {}).get(metric) for row in groups.get((task, init), [])], words)
            for init, line in lines.items()
        }
        ours, random = scores.get("pretrained"), scores.get("random")
        gain = None
        if ours and random and ours.mean is not None and random.mean is not None:
            gain = ours.mean - random.mean
        beside = [
            (line.title.removeprefix("published: "), value)
            for line in others
            if (value := line.values[at]) is not None and at not in line.flagged
        ]
        clear = gain is not None and (min(ours.seeds) > max(random.seeds) or max(ours.seeds) < min(random.seeds))  # type: ignore[union-attr]
        rows.append(Row(_name(column, words), ours, random, NONE if gain is None else signed(gain), clear, beside))
    spreads = any(len(row.pretrained.seeds) > 1 for row in rows if row.pretrained)
    return {
        "title": words.said(table.title),
        "rows": rows,
        "overlap": spreads and any(row.gain != NONE and not row.apart for row in rows),
        "published": _published(table, lines.get("pretrained"), others, words),
        "extra": Table(
            words("More metrics"),
            [words("metric"), *(words(INITS[init]) for init in lines)],
            [[_name(name, words), *cells] for name, cells in table.extra],
        ),
        "notes": [words.said(note) for note in table.notes if note != TOLD],
    }


def _score(line: Line, at: int, seeds: list[float | None], words: Words) -> Score | None:
    value, values = line.values[at], [one for one in seeds if one is not None]
    if value is None and not seeds:
        return None
    if value is None:
        return Score(words("undefined"), "", None, [])
    mean, _, spread = line.cells[at].partition(" ± ")
    beside = " · ".join(f"{one:.2f}" for one in values) if len(values) == FEW else f"± {spread}" if spread else ""
    return Score(mean, beside, value, values)


def _published(table: Scores, ours: Line | None, others: list[Line], words: Words) -> Table | None:
    """Return the run beside published models, the best of each metric in bold."""
    if not others:
        return None
    rows: list[list[str | Best | None]] = []
    for at, column in enumerate(table.columns):
        cells = [(line, line.cells[at].partition(" ±")[0]) for line in [*([ours] if ours else []), *others]]
        best = table.best(at)
        bold = [best is not None and line.values[at] == best and at not in line.flagged for line, _ in cells]
        rows.append(
            [_name(column, words), *(Best(text) if b else text for b, (_, text) in zip(bold, cells, strict=True))]
        )
    head = [words("metric"), *([words("this model")] if ours else [])]
    return Table(words("Published models"), [*head, *(one.title.removeprefix("published: ") for one in others)], rows)


def _name(column: str, words: Words) -> str:
    """Return a metric's name: that its data are synthetic stands above the table."""
    return words.metric(column.replace(" (synthetic)", "").replace(" (split of dev)", words(" (split of dev)")))


def _seeds(found: Klue, words: Words) -> Table:
    """Return the scores of each job: a metric and initialisation a row, a seed a column."""
    rows = sort_rows(found.rows)
    seeds = sorted({row["seed"] for row in rows})
    lines: dict[tuple[str, str, str, str], dict[int, float | None]] = {}
    for row in rows:
        values = str(row["settings"]["learning_rate"])
        for metric in TASKS[row["task"]].metrics:
            lines.setdefault((row["task"], metric, row["init"], values), {})[row["seed"]] = row["best"][metric]
    shown = [
        [words.metric(f"{TASKS[task].title} {TASKS[task].metrics[metric]}"), words(INITS[init]), values,
         *(None if (value := by_seed.get(seed)) is None else f"{value:.2f}" for seed in seeds)]
        for (task, metric, init, values), by_seed in lines.items()
    ]  # fmt: skip
    head = [words("metric"), words("initial weights"), words("learning rate")]
    return Table(
        words("Scores of each seed"), [*head, *(words("seed {seed}", seed=seed) for seed in seeds)], shown, (1,)
    )


def _curve(rows: list[dict[str, Any]], task: str, words: Words) -> Chart | None:
    """Return a chart of the scores of checkpoints, which `hunmin klue watch` has made."""
    metric, series = TASKS[task].selection, []
    for init, label in INITS.items():
        mine = sorted((row for row in rows if (row["task"], row["init"]) == (task, init)), key=lambda row: row["step"])
        if mine:
            tokens_P = np.array([row["tokens"] or row["step"] for row in mine], float)
            found = [row["best"][metric]["mean"] for row in mine]
            series.append(Series(words(label), Curve(tokens_P, np.array([np.nan if v is None else v for v in found]))))
    name = words.metric(f"{TASKS[task].title} {metrics_of(task)[metric]}")
    return line_chart(words, f"watch-{task}", name, series, "score × 100", "tokens", "{:.2f}")
