"""Plots of scores: bars beside published models', curves over training tokens, confusion of labels."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from common.destinations import OutputFile
from common.plots import new_figure, save_figure
from klue.tables import Line, tables, unmarked
from klue.tasks import TASKS

COLUMNS = 4
"""Panels in a row."""
LABEL = 36
"""Characters in a line of a model's name."""
NUMBERED = 12
"""Labels up to which the cells of a picture of confusion have their numbers."""


def draw_scores(rows: Sequence[dict[str, Any]], published: dict[str, Any] | None, to: Path | OutputFile) -> None:
    """Draw a panel a metric of every suite, a bar a model, ours first, standard deviations as whiskers. Each of our
    models has a colour, paler from random weights; doubtful published scores have their mark, and the source of the
    published ones stands below."""
    score_tables = tables(rows, published)
    columns = [(scores, number) for scores in score_tables for number in range(len(scores.columns))]
    shown = [[line for line in scores.lines if line.values[number] is not None][::-1] for scores, number in columns]
    row_bars = [max(map(len, shown[start : start + COLUMNS])) for start in range(0, len(shown), COLUMNS)]
    figure, axes = _panels(len(columns), [0.22 * bars + 1.1 for bars in row_bars])
    models = list(dict.fromkeys(row.get("model", "") for row in rows))
    for panel, (scores, number), lines, bars in zip(axes, columns, shown, np.repeat(row_bars, COLUMNS), strict=False):
        colours = [_colour(line, models) for line in lines]
        values = [line.values[number] or 0.0 for line in lines]
        spread = [float(line.cells[number].split("±")[1]) if "±" in line.cells[number] else 0.0 for line in lines]
        panel.barh(range(len(lines)), values, xerr=spread, color=colours)
        panel.set_yticks(range(len(lines)), [_label(line.title.removeprefix("published: ")) for line in lines])
        panel.set_title(unmarked(scores.columns[number]), fontsize=8)
        panel.tick_params(labelsize=6)
        panel.set_ylim(len(lines) - bars - 0.5, len(lines) - 0.5)  # bars of one height in a row, from the top
        panel.set_xlim(min(0.0, *values) if values else 0.0, 112)
        for at, value in enumerate(values):
            mark = lines[at].cells[number][-1] if number in lines[at].flagged else ""
            panel.text(max(value, 0.0) + spread[at] + 1, at, f"{value:.1f}{mark}", fontsize=6, va="center")
    sources = dict.fromkeys(note for scores in score_tables for note in scores.notes if note.startswith("published: "))
    figure.supxlabel("\n".join(sources), fontsize=7)
    save_figure(figure, to)


def _colour(line: Line, models: Sequence[str]) -> Any:
    if not line.seeds:
        return "0.75"
    return f"C{models.index(line.model) % 10}", 1.0 if line.init == "pretrained" else 0.45


def draw_confusion(confusions: Sequence[tuple[str, list[str], np.ndarray]], to: Path | OutputFile) -> None:
    """Draw a panel a (title, labels, counts): of each gold label (down) the share taken for each label (across)."""
    most = max(len(names) for _, names, _ in confusions)
    heights = [1.2 + 0.28 * most] * math.ceil(len(confusions) / 2)
    figure, axes = _panels(len(confusions), heights, columns=2, width=1.8 + 0.3 * most)
    for panel, (title, names, counts) in zip(axes, confusions, strict=False):
        shares = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-9)
        panel.imshow(shares, cmap="Blues", vmin=0, vmax=100)
        panel.set_xticks(range(len(names)), names, rotation=90)
        panel.set_yticks(range(len(names)), names)
        panel.tick_params(labelsize=6)
        panel.set_xlabel("predicted, % of each gold label", fontsize=7)
        panel.set_ylabel("gold", fontsize=7)
        panel.set_title(_label(title), fontsize=8)
        if len(names) <= NUMBERED:
            for (down, across), share in np.ndenumerate(shares):
                shade = "white" if share > 50 else "black"
                panel.text(across, down, f"{share:.0f}", fontsize=6, ha="center", va="center", color=shade)
    save_figure(figure, to)


def draw_curve(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw a panel a task with its selection metric against tokens, a line an initialisation, as a PNG."""
    tasks = [name for name in TASKS if any(row["task"] == name for row in rows)]
    if not tasks:
        return
    figure, axes = _panels(len(tasks), [2.2] * math.ceil(len(tasks) / COLUMNS))
    for panel, name in zip(axes, tasks, strict=False):
        metric = TASKS[name].selection
        for init in ("pretrained", "random"):
            init_rows = [row for row in rows if (row["task"], row["init"]) == (name, init)]
            points = [(row["tokens"] or row["step"], row["best"][metric]) for row in init_rows]
            points = [(at, score) for at, score in points if score["mean"] is not None]
            if points:
                at = [x for x, _ in points]
                means = [score["mean"] for _, score in points]
                spread = [score["sd"] or 0.0 for _, score in points]
                panel.errorbar(at, means, spread, marker="o", markersize=3, label=init)
        names = {**TASKS[name].metrics, **TASKS[name].extra_metrics}
        panel.set_title(f"{TASKS[name].title} {names[metric]}", fontsize=8)
        panel.set_xlabel("tokens", fontsize=7)
        panel.tick_params(labelsize=6)
        panel.grid(alpha=0.3)
    axes[0].legend(fontsize=6)
    save_figure(figure, path)


def _label(title: str) -> str:
    return "\n".join(textwrap.wrap(title, LABEL, max_lines=2, placeholder="…"))


def _panels(count: int, heights: Sequence[float], columns: int = COLUMNS, width: float = 3.2) -> tuple[Any, list[Any]]:
    """Return a figure and `count` panels of it; heights of rows and width of a panel are in inches."""
    columns = min(columns, count)
    figure = new_figure(width * columns, sum(heights), dpi=120, layout="tight")
    axes = figure.subplots(len(heights), columns, squeeze=False, height_ratios=heights)
    flat = list(axes.flat)
    for panel in flat[count:]:
        panel.set_visible(False)
    return figure, flat
