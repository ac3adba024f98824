"""Charts as SVG inside the page, drawn by matplotlib: their colours are those of the page's scheme, their text is text.

matplotlib draws in colours that stand for the style sheet's; its ids are made unique in the page.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from common.progress import short_number
from hunmin.page.curves import Curve, thin
from hunmin.page.markup import details, table

INK, GRID = "#010201", "#010202"
SERIES = ("#010211", "#010212", "#010213", "#010214")
STAND_INS = {INK: "--muted", GRID: "--grid"} | {
    colour: f"--series-{number}" for number, colour in enumerate(SERIES, start=1)
}
"""Colour in the drawing → custom property of the style sheet."""
WIDTH, HEIGHT = 5.0, 3.2
"""Inches (of 72 points): about a phone's width, so that text is of the page's size there."""
ROWS = 100
"""Of the table beside a chart."""


@dataclass(frozen=True)
class Series:
    """A line of a chart."""

    label: str
    curve: Curve
    dots: bool = False
    """Mark each point: there are few."""
    spread_P: np.ndarray | None = None
    """Standard deviation at each point, drawn as whiskers; NaN where there is none."""


def line_chart(
    key: str,
    title: str,
    series: Sequence[Series],
    unit: str,
    x_label: str = "optimizer step",
    shown: Callable[[float], str] = "{:,.4g}".format,
    source: str = "",
    zero: bool = False,
) -> Markup:
    """Return lines over the steps of a run, with a table of their numbers; nothing where no value is finite.

    Args:
        key: unique in the page, letters and hyphens.
        title: above the chart.
        series: one or more lines.
        unit: of the values, beside the axis.
        x_label: below the chart.
        shown: writes a value in the table.
        source: file with all the numbers, named where the table has not all of them.
        zero: let the axis of the values begin at 0, where small changes are no news.
    """
    series = [one for one in series if len(one.curve.finite)]
    if not series:
        return Markup()

    def draw(axes: Any) -> None:
        for number, one in enumerate(series):
            curve = one.curve if one.spread_P is not None else thin(one.curve)
            few = one.dots or len(curve) < 2
            look = {"color": SERIES[number], "linewidth": 1.4, "label": one.label, "markersize": 3.5}
            if one.spread_P is not None:
                axes.errorbar(curve.steps_P, curve.values_P, one.spread_P, marker="o", capsize=2, **look)
            else:
                axes.plot(curve.steps_P, curve.values_P, marker="o" if few else "", **look)
        axes.set_xlabel(x_label)
        axes.set_ylabel(unit)
        axes.margins(x=0.02)
        axes.locator_params("x", nbins=5, integer=True)
        far = max(one.curve.steps_P[-1] for one in series)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}" if far < 1e5 else short_number(x))
        if zero:
            axes.set_ylim(bottom=0)
        if len(series) > 1:
            axes.legend(frameon=False, labelcolor=INK)

    ends = "; ".join(
        f"{one.label} from {shown(one.curve.finite.values_P[0])} at {one.curve.finite.steps_P[0]:,.0f} to "
        f"{shown(one.curve.finite.values_P[-1])} at {one.curve.finite.steps_P[-1]:,.0f}"
        for one in series
    )
    return _figure(key, title, f"Against the {x_label}: {ends}.", draw, _numbers(title, series, x_label, shown, source))


def _numbers(
    title: str, series: Sequence[Series], x_label: str, shown: Callable[[float], str], source: str
) -> list[Markup]:
    """Return a table of the values at even distances, and of the last ones."""
    columns = [dict(zip(one.curve.steps_P.tolist(), one.curve.values_P.tolist(), strict=True)) for one in series]
    steps = sorted(set().union(*columns))
    chosen = steps
    if len(steps) > ROWS:
        chosen = [steps[at] for at in np.linspace(0, len(steps) - 1, ROWS).round().astype(int)]
        # lines of few points, such as the validation's, would fall through
        chosen = sorted(set(chosen).union(*(column for column in columns if len(column) <= ROWS)))
    rows = [[f"{step:,.0f}", *(_value(column.get(step), shown) for column in columns)] for step in chosen]
    note = f"{len(chosen):,} of {len(steps):,} points" + (f"; all are in {source}" if source else "")
    parts = [table(f"{title}: numbers", [x_label, *(one.label for one in series)], rows)]
    return parts + ([Markup('<p class="notes">{}.</p>').format(note)] if len(chosen) < len(steps) else [])


def _value(value: float | None, shown: Callable[[float], str]) -> str | None:
    if value is None:
        return None
    return shown(value) if np.isfinite(value) else "not finite"


def bar_chart(key: str, title: str, names: Sequence[str], counts: Sequence[int], unit: str) -> Markup:
    """Return horizontal bars with their shares, and a table of the counts; nothing where all of them are 0.

    Args:
        key: unique in the page.
        title: above the chart.
        names: of the bars, from top to bottom.
        counts: one a bar.
        unit: what is counted.
    """
    whole = sum(counts)
    if not whole:
        return Markup()
    shares = [100 * value / whole for value in counts]

    def draw(axes: Any) -> None:
        bars = axes.barh(range(len(names)), shares, color=SERIES[0], height=0.7)
        axes.bar_label(bars, [f"{share:.1f}" for share in shares], padding=3, color=INK, fontsize=10)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.15 * max(shares))
        axes.set_xlabel(f"% of the {unit}")
        axes.grid(visible=False, axis="y")

    highest = max(range(len(counts)), key=counts.__getitem__)
    described = f"Shares of the {unit}; most, {shares[highest]:.1f}%, are {names[highest]}."
    rows = [[name, f"{n:,}", f"{share:.2f}%"] for name, n, share in zip(names, counts, shares, strict=True)]
    return _figure(key, title, described, draw, [table(f"{title}: numbers", [title, unit, "share"], rows)])


@dataclass(frozen=True)
class Dots:
    """Values of one kind, one a row of a dot chart."""

    label: str
    values: list[float | None]
    spread: list[float] | None = None
    """Standard deviations, drawn as whiskers."""


def dot_chart(key: str, title: str, rows: Sequence[str], kinds: Sequence[Dots], beside: Sequence[Dots] = ()) -> Markup:
    """Return a row of dots a metric, from 0 to 100: what is compared in colour, what stands beside it in the dark.

    The numbers stand in the table that the chart goes with.

    Args:
        key: unique in the page.
        title: above the chart.
        rows: names of the metrics.
        kinds: what is compared, at most as many as there are colours.
        beside: published models; one label stands for all of them.
    """

    def draw(axes: Any) -> None:
        for number, dots in enumerate(beside):
            points = [(value, at) for at, value in enumerate(dots.values) if value is not None]
            axes.plot(*zip(*points, strict=True), "|", color=INK, markersize=7, label="" if number else "published")
        for number, dots in enumerate(kinds):
            points = [(value, at) for at, value in enumerate(dots.values) if value is not None]
            if not points:
                continue
            x, y = zip(*points, strict=True)
            spread = [dots.spread[at] for at in y] if dots.spread else None
            marker = "o" if number == 0 else "D"
            axes.errorbar(
                x, y, xerr=spread, fmt=marker, color=SERIES[number], markersize=5, capsize=2, label=dots.label
            )
        axes.set_yticks(range(len(rows)), rows)
        axes.invert_yaxis()
        lowest = min([0.0, *(value for dots in kinds for value in dots.values if value is not None)])
        axes.set_xlim(lowest - 2, 102)
        axes.set_xlabel("score × 100")
        close = {"handlelength": 1.0, "handletextpad": 0.5, "columnspacing": 1.0}
        axes.figure.legend(frameon=False, labelcolor=INK, loc="outside upper center", ncols=3, **close)

    held = any(value is not None for dots in kinds for value in dots.values)
    described = "The numbers are in the table below." if held else ""
    return _figure(key, title, described, draw, [], height=0.26 * len(rows) + 1.2) if held else Markup()


def _figure(
    key: str, title: str, described: str, draw: Callable[[Any], None], numbers: Sequence[Markup], height: float = HEIGHT
) -> Markup:
    svg = themed(_drawn(draw, height), key)
    return Markup(
        '<figure class="chart"><figcaption id="{0}-title">{1}</figcaption>'
        '<svg role="img" aria-labelledby="{0}-title" aria-describedby="{0}-text" {2}'
        '<p class="heard" id="{0}-text">{3}</p>{4}</figure>'
    ).format(
        key,
        title,
        Markup(svg),
        described,
        details(Markup('Numbers<span class="heard">: {}</span>').format(title), *numbers),
    )


def _drawn(draw: Callable[[Any], None], height: float) -> str:
    """Return what matplotlib writes of a figure; the same drawing gives the same text."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    look: dict[str, Any] = {
        "svg.fonttype": "none", "svg.hashsalt": "hunmin", "font.size": 11, "axes.edgecolor": GRID,
        "figure.facecolor": "none", "axes.facecolor": "none",
        "axes.labelcolor": INK, "xtick.color": GRID, "ytick.color": GRID, "xtick.labelcolor": INK,
        "ytick.labelcolor": INK, "axes.grid": True, "axes.axisbelow": True, "grid.color": GRID, "grid.linewidth": 0.6,
        "legend.fontsize": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.formatter.limits": (-3, 6),
    }  # fmt: skip
    with rc_context(look):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure.subplots())
        text = io.StringIO()
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        FigureCanvasSVG(figure).print_svg(text, metadata=metadata)
        figure.clear()
    return text.getvalue()


def themed(svg: str, key: str) -> str:
    """Return a drawing from its viewBox to its end: in the page's colours and font, no background, ids its own.

    Args:
        svg: what matplotlib wrote.
        key: what its ids begin with.
    """
    box = re.search(r'viewBox="[^"]+"', svg)
    assert box
    body = svg[svg.index("<g ", box.end()) : svg.rindex("</svg>")]
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', body))
    body = re.sub(r'\s+id="([^"]+)"', lambda m: f' id="{key}-{m[1]}"' if m[1] in used else "", body)
    body = re.sub(r'(url\(#|href="#)([^")]+)', rf"\1{key}-\2", body)
    body = body.replace("xlink:href=", "href=")
    body = re.sub(r"font-family:[^;\"]*;?\s*", "", body)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r"\s*\n\s*", " ", body)
    for colour, name in STAND_INS.items():
        body = body.replace(colour, f"var({name})")
    return f"{box[0]}>{body.strip()}</svg>"
