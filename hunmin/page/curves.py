"""Curves of a run: the columns of its metrics.jsonl, and fewer points of them that show the same."""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from common.results import refuse_unfit
from pretrain.callbacks.metrics import check_figures

# P: points of a curve

MOST = 600
"""Points of a curve that is drawn: more than a chart has columns of pixels."""


@dataclass(frozen=True)
class Curve:
    """Values over the steps of a run."""

    steps_P: np.ndarray
    values_P: np.ndarray
    """Values; those that are not finite are NaN."""

    def __len__(self) -> int:
        return len(self.steps_P)

    @property
    def finite(self) -> Curve:
        """Return the points whose values are finite."""
        keep_P = np.isfinite(self.values_P)
        return Curve(self.steps_P[keep_P], self.values_P[keep_P])

    def scaled(self, factor: float) -> Curve:
        """Return the curve with its values multiplied."""
        return Curve(self.steps_P, self.values_P * factor)


@dataclass
class Metrics:
    """The contents of a metrics.jsonl."""

    curves: dict[str, Curve] = field(default_factory=dict)
    """Name in the file → its curve."""
    border: int = -1
    """Step of the last line that is of another objective than the last line is; −1 where there is none."""

    def curve(self, name: str) -> Curve:
        """Return a curve; without points where the file has none of that name."""
        return self.curves.get(name, Curve(np.empty(0), np.empty(0)))

    def last(self, name: str) -> float | None:
        """Return the last finite value of a curve, or None."""
        values_P = self.curve(name).finite.values_P
        return float(values_P[-1]) if len(values_P) else None

    def of_last_objective(self, name: str) -> Curve:
        """Return the finite points of a curve whose values are of the objective that was learned last."""
        curve = self.curve(name).finite
        keep_P = curve.steps_P > self.border
        return Curve(curve.steps_P[keep_P], curve.values_P[keep_P])


def read_curves(path: Path) -> Metrics:
    """Return the contents of a metrics file, read line by line: its rows are never in memory together.

    Args:
        path: metrics.jsonl; where there is none, there are no curves. A line that a kill cut short is left out.
    """
    columns: dict[str, tuple[array[float], array[float]]] = defaultdict(lambda: (array("d"), array("d")))
    objective = None
    before = -1
    border = -1
    if not path.is_file():
        return Metrics()
    with path.open("rb") as stream:
        for line in stream:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if not isinstance(row, dict) or not isinstance(step := row.get("step"), int):
                continue
            if row.get("objective") != objective:
                objective, border = row.get("objective"), before
            before = step
            refuse_unfit(path, partial(check_figures, row), own=False)
            for name, value in row.items():
                if name != "step" and isinstance(value, (int, float)):
                    steps, values = columns[name]
                    steps.append(step)
                    values.append(value)
    curves = {}
    for name, (steps, values) in columns.items():
        values_P = np.array(values)
        curves[name] = Curve(np.array(steps), np.where(np.isfinite(values_P), values_P, np.nan))
    return Metrics(curves, border)


def thin(curve: Curve) -> Curve:
    """Return at most `MOST` points of a curve: its ends, and the lowest and the highest of even stretches of it."""
    count = len(curve)
    if count <= MOST:
        return curve
    edges = np.linspace(0, count, MOST // 2).astype(int)
    chosen = {0, count - 1}
    for begin, end in pairwise(edges):
        stretch_P = curve.values_P[begin:end]
        if np.isnan(stretch_P).all():
            chosen.add(int(begin))  # a gap stays a gap
            continue
        chosen |= {int(begin + np.nanargmin(stretch_P)), int(begin + np.nanargmax(stretch_P))}
    indices = sorted(chosen)
    return Curve(curve.steps_P[indices], curve.values_P[indices])


def seconds_per_step(metrics: Metrics) -> float | None:
    """Return the median seconds of a step over the last 20 lines of the log, or None before the second line."""
    tokens = metrics.curve("tokens")
    rate = metrics.curve("tokens_per_second")
    if len(tokens) < 2 or len(tokens) != len(rate):
        return None
    steps_P, tokens_P = tokens.steps_P[-21:], tokens.values_P[-21:]
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds_P = np.diff(tokens_P) / rate.values_P[-len(steps_P) + 1 :] / np.diff(steps_P)
    seconds_P = seconds_P[np.isfinite(seconds_P)]
    return float(np.median(seconds_P)) if len(seconds_P) else None
