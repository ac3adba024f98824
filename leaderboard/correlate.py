"""How tasks' scores go together over models: Spearman, Pearson, Kendall with bootstrap intervals, and a heat map."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame

from leaderboard.report import read_results
from leaderboard.suites import SUITES, TASKS

STATISTICS = ("spearman", "pearson", "kendall")
FEWEST = 10  # models that a correlation needs
PUBLISHED = {
    "value": 0.36,
    "of": "season 1 and season 2's generation tasks, 2410.12445",
    "unknown": "statistic, models",
}


def correlate(paths: Sequence[Path], resamples: int = 1000, seed: int = 42) -> dict[str, Any]:
    """Return {"models", "tasks", "pairs", "published"}: each pair's n and statistics, or a note of too few models.

    Means over leaderboard2's likelihood and generation tasks stand beside the tasks, for models that have all of them.
    Limited scores are passed over. Intervals are of `resamples` bootstrap samples of the models.
    """
    table: dict[str, dict[str, float]] = {}
    for score in read_results(paths):
        if not score.limited:
            table.setdefault(score.task, {})[score.model] = score.value
    frame = DataFrame(table)
    for kind in ("likelihood", "generation"):
        group = [name for name in SUITES["leaderboard2"] if TASKS[name].kind == kind]
        if set(group) <= set(frame):
            frame[f"mean {kind}"] = frame[group].mean(axis=1, skipna=False)
    pairs, draw = [], np.random.default_rng(seed)
    for first, second in combinations(frame, 2):
        both = frame[[first, second]].dropna()
        pair: dict[str, Any] = {"tasks": [first, second], "n": len(both), "note": "not enough models"}
        if len(both) >= FEWEST:
            samples = [both, *(both.iloc[draw.integers(len(both), size=len(both))] for _ in range(resamples))]
            for name in STATISTICS:
                value, *drawn = [float(one[first].corr(one[second], method=name)) for one in samples]
                ends = np.nanpercentile(drawn, [2.5, 97.5])  # a sample of equal scores has no correlation
                pair |= {"note": "", name: {"value": value, "interval": ends.tolist()}}
        pairs.append(pair)
    return {"models": sorted(frame.index), "tasks": list(frame), "pairs": pairs, "published": PUBLISHED}


def heat_map(found: dict[str, Any], path: Path, statistic: str = "spearman") -> None:
    """Draw what `correlate` returns to a .png, .svg or .pdf; pairs of too few models stay empty."""
    from matplotlib.figure import Figure

    tasks = found["tasks"]
    matrix = np.where(np.eye(len(tasks)) == 1, 1.0, np.nan)
    for pair in found["pairs"]:
        i, j = map(tasks.index, pair["tasks"])
        matrix[i, j] = matrix[j, i] = pair.get(statistic, {}).get("value", np.nan)
    figure = Figure(figsize=(2 + 0.6 * len(tasks), 2 + 0.6 * len(tasks)), layout="constrained")
    axes = figure.subplots()
    for (i, j), value in np.ndenumerate(matrix):
        axes.text(j, i, "–" if np.isnan(value) else f"{value:.2f}", ha="center", va="center", fontsize=8)
    figure.colorbar(axes.imshow(matrix, vmin=-1, vmax=1, cmap="coolwarm"), label=statistic)
    axes.set_xticks(range(len(tasks)), tasks, rotation=60, ha="right")
    axes.set_yticks(range(len(tasks)), tasks)
    figure.savefig(path)
