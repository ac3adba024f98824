"""Line charts as data: uPlot draws them in the browser, and a table holds their numbers for those who hear the page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hunmin.page.curves import Curve, thin
from hunmin.page.tables import Table
from hunmin.page.words import Words

ROWS = 100
"""Rows of the table beside a chart."""


@dataclass(frozen=True)
class Series:
    """A line of a chart."""

    label: str
    """Label as it is shown."""
    curve: Curve
    dots: bool = False
    """Draw points alone, unjoined."""
    colour: int | None = None
    """Number of its colour in the style sheet, from 1; None: its place in the chart."""


@dataclass(frozen=True)
class Chart:
    """A chart, ready for the template."""

    key: str
    """Unique in the page."""
    title: str
    described: str
    """First and last values, for those who hear the page."""
    data: str
    """JSON that script.js draws."""
    numbers: Table
    note: str
    """Where the numbers are that the table leaves out."""


def line_chart(
    words: Words,
    key: str,
    title: str,
    series: Sequence[Series],
    unit: str,
    x_label: str = "optimizer step",
    form: str = "{:,.4g}",
    source: str = "",
    zero: bool = False,
) -> Chart | None:
    """Return lines over the steps of a run; None where no value is finite.

    Args:
        words: of the page.
        key: unique in the page, letters and hyphens.
        title: above the chart, in English, as unit and x_label.
        series: one or more lines.
        unit: of the values, beside the axis; one that begins with "%" stands behind each of them as well.
        x_label: below the chart.
        form: writes a value in the table.
        source: file with all the numbers, named where the table has not all of them.
        zero: let the axis of the values begin at 0, where small changes are no news.
    """
    series = [line for line in series if len(line.curve.finite)]
    if not series:
        return None
    percent = unit.startswith("%")
    form += "%" * percent
    ends = []
    for line in series:
        finite = line.curve.finite
        first, last = (f"{form.format(finite.values_P[at])} ({finite.steps_P[at]:,.0f})" for at in (0, -1))
        ends.append(f"{line.label}: {first} → {last}")
    numbers, note = _numbers(words, words(title), series, words(x_label), form, source)
    drawn = {"unit": words(unit), "x_label": words(x_label), "zero": zero, "percent": percent}
    data = json.dumps(_points(series) | drawn, ensure_ascii=False, separators=(",", ":"))
    return Chart(key, words(title), "; ".join(ends), data, numbers, note)


def _by_step(curves: Iterable[Curve]) -> tuple[list[float], list[dict[float, float]]]:
    columns = [dict(zip(curve.steps_P.tolist(), curve.values_P.tolist(), strict=True)) for curve in curves]
    return sorted(set().union(*columns)), columns


def _points(series: Sequence[Series]) -> dict[str, Any]:
    """Return the series on one row of steps: null where a series has no point, false where its value is not finite."""
    steps, columns = _by_step(thin(line.curve) for line in series)
    lines = [
        {
            "label": line.label,
            "dots": line.dots or len(column) == 1,
            "colour": line.colour or number,
            "values": [_short(column[step]) if step in column else None for step in steps],
        }
        for number, (line, column) in enumerate(zip(series, columns, strict=True), start=1)
    ]
    return {"x": [_short(step) for step in steps], "lines": lines}


def _short(value: float) -> float | bool:
    if not np.isfinite(value):
        return False
    return int(value) if value == int(value) else float(f"{value:.6g}")


def _numbers(
    words: Words, title: str, series: Sequence[Series], x_label: str, form: str, source: str
) -> tuple[Table, str]:
    """Return a table of the values at even distances, and of the last ones."""
    steps, columns = _by_step(line.curve for line in series)
    chosen = steps
    if len(steps) > ROWS:
        chosen = [steps[at] for at in np.linspace(0, len(steps) - 1, ROWS).round().astype(int)]
        # lines of few points, such as the validation's, would fall through
        chosen = sorted(set(chosen).union(*(column for column in columns if len(column) <= ROWS)))

    def cell(value: float | None) -> str | None:
        return value if value is None else form.format(value) if np.isfinite(value) else words("not finite")

    rows = [[f"{step:,.0f}", *(cell(column.get(step)) for column in columns)] for step in chosen]
    table = Table(words("{title}: numbers", title=title), [x_label, *(line.label for line in series)], rows)
    if len(chosen) == len(steps):
        return table, ""
    note = words("{shown} of {all:point}.", shown=len(chosen), all=len(steps))
    return table, f"{note} {words('All are in {file}.', file=source)}" if source else note
