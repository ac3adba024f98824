"""Several runs on one page: facts, training curves and scores side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hunmin.page.charts import Series, line_chart
from hunmin.page.differences import differing_settings, unequal
from hunmin.page.facts import Facts
from hunmin.page.scores import metric_name, notes, single_seed
from hunmin.page.tables import Table, signed
from hunmin.page.verdict import has_baseline, run_facts, verdict
from hunmin.page.words import Words
from klue.synthetic import all_synthetic
from klue.tables import Scores, tables

INTERVALS = "hunmin klue report RUN_A RUN_B --interval"
"""The command that tells whether scores of the same examples differ by more than chance."""
MOST = 8
"""Runs on a page: as many as there are colours."""
CURVES = (
    ("loss", "Training loss", "nats", "loss", 1.0),
    ("validation", "Validation loss", "nats", "validation_loss", 1.0),
    ("accuracy", "Tokens predicted correctly, validation", "%", "validation_accuracy", 100.0),
    ("throughput", "Throughput", "tokens per second", "tokens_per_second", 1.0),
)


def view(runs: Sequence[Facts], places: Sequence[str], words: Words) -> dict[str, Any]:
    """Return the values for the template.

    Args:
        runs: what their folders tell.
        places: for each run the part of its path that differs from the others'.
        words: of the page.
    """
    names = _labels(runs, places)
    vocabularies = {tuple(run.vocabulary.entries) for run in runs if run.vocabulary}
    rows = [{**row, "model": name} for name, run in zip(names, runs, strict=True) for row in run.klue.rows]
    published = next((run.klue.published for run in runs if run.klue.published), None)
    differs = unequal(runs)
    gains = all(has_baseline(run) for run in runs)  # a gain is no figure to set beside a score
    charts = []
    for key, title, unit, curve, factor in CURVES:
        curves = [run.training.metrics.curve(curve).scaled(factor) for run in runs]
        series = [
            Series(name, values, dots=curve.startswith("validation"), colour=number)
            for number, (name, values) in enumerate(zip(names, curves, strict=True), start=1)
        ]
        form = "{:,.4f}" if unit == "nats" else "{:,.2f}"
        charts.append(line_chart(words, key, title, series, unit, form=form, zero=key == "throughput"))
    return {
        "names": names,
        "verdicts": [(name, verdict(run, words, gains)) for name, run in zip(names, runs, strict=True)],
        "unequal": [words(note) for note in differs],
        "compared_by": INTERVALS if sum(bool(run.klue.rows) for run in runs) > 1 else "",
        "settings": Table(
            words("Settings that differ"),
            [words("setting"), *names],
            [[key, *values] for key, values in differing_settings(runs).items()],
        ),
        "synthetic": all_synthetic(rows),
        "vocabularies_differ": len(vocabularies) > 1,
        "charts": [chart for chart in charts if chart],
        "facts": _facts(runs, names, words),
        "scores": [
            (
                words(table.title),
                _scores(table, names, words, best=not differs),
                _gains(table, names, words, any(single_seed(run.klue) for run in runs)),
                notes(table, words),
            )
            for table in tables(rows, published)
        ],
    }


def _labels(runs: Sequence[Facts], places: Sequence[str]) -> list[str]:
    """Return the names of runs: those that several have with their folders, a run given again with a number."""
    run_names = [run.name for run in runs]
    names = [
        f"{name} ({place})" if run_names.count(name) > 1 else name
        for name, place in zip(run_names, places, strict=True)
    ]
    again = [names[: at + 1].count(name) for at, name in enumerate(names)]
    return [name if number == 1 else f"{name} ({number})" for name, number in zip(names, again, strict=True)]


def _facts(runs: Sequence[Facts], names: list[str], words: Words) -> Table:
    columns = [
        {name: f"{value} ({beside})" if beside else value for name, value, beside in run_facts(run, words)}
        for run in runs
    ]
    order = list(dict.fromkeys(name for column in columns for name in column))
    rows = [[name, *(column.get(name) for column in columns)] for name in order]
    return Table(words("Runs"), [words("run"), *names], rows)


def _scores(table: Scores, names: list[str], words: Words, best: bool) -> Table:
    ours = _by_model(table)
    rows: list[list[str | None]] = []
    for at, column in enumerate(table.columns):
        values = [ours[name, "pretrained"][at] if (name, "pretrained") in ours else None for name in names]
        known = [value for value in values if value is not None]
        ranked = best and at not in table.unranked and len(known) > 1
        marks = ["*" * (ranked and value == max(known)) for value in values]
        cells = [None if value is None else f"{mark}{value:.2f}" for mark, value in zip(marks, values, strict=True)]
        rows.append([metric_name(column, words), *cells])
    return Table(words("Scores"), [words("metric"), *names], rows)


def _gains(table: Scores, names: list[str], words: Words, alone: bool) -> Table | None:
    ours = _by_model(table)
    both = [name for name in names if {(name, "pretrained"), (name, "random")} <= ours.keys()]
    rows = []
    for at, column in enumerate(table.columns):
        pairs = [(ours[name, "pretrained"][at], ours[name, "random"][at]) for name in both]
        gains = [None if None in pair else signed(pair[0] - pair[1]) for pair in pairs]
        rows.append([metric_name(column, words), *gains])
    title = "Difference from random weights (one seed: may be noise)" if alone else "Gain over random weights"
    return Table(words(title), [words("metric"), *both], rows) if both else None


def _by_model(table: Scores) -> dict[tuple[str, str], Any]:
    return {(line.model, line.init): line.values for line in table.lines if line.init}
