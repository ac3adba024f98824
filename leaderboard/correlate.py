"""Correlations of tasks' scores over models: Spearman, Pearson, Kendall with bootstrap intervals, and a heat map."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame

from common.destinations import OutputFile
from common.plots import new_figure, save_figure
from leaderboard.report import read_results
from leaderboard.suites import SUITES, TASKS

STATISTICS: list[Any] = ["spearman", "pearson", "kendall"]
PUBLISHED = {
    "value": 0.36,
    "of": "season 1 and season 2's generation tasks, 2410.12445, October 2024",
    "unknown": "statistic, models",
}


def correlate(paths: Sequence[Path], resamples: int = 1000) -> dict[str, Any]:
    """Return {"models", "tasks", "pairs", "published"}: each pair's n and statistics, or a note of too few models.
    Means over leaderboard2's likelihood and generation tasks stand beside the tasks; limited scores are left out."""
    scores = [(score.model, score.task, score.value) for score in read_results(paths) if not score.limited]
    table = DataFrame(scores, columns=["model", "task", "value"])
    frame = table.pivot_table("value", "model", "task", aggfunc="last", sort=False)
    for kind in ("likelihood", "generation"):
        group = [name for name in SUITES["leaderboard2"] if TASKS[name].kind == kind]
        if set(group) <= set(frame):
            frame[f"mean {kind}"] = frame[group].mean(axis=1, skipna=False)
    resamples = resamples if len(frame) >= 10 else 0
    samples = [frame.sample(frac=1, replace=True, random_state=seed) for seed in range(resamples)]
    matrices = {name: [drawn.corr(name).to_numpy() for drawn in (frame, *samples)] for name in STATISTICS}
    pairs = []
    for (i, first), (j, second) in combinations(enumerate(frame), 2):
        pair: dict[str, Any] = {"tasks": [first, second], "n": len(frame[[first, second]].dropna())}
        pair["note"] = "" if pair["n"] >= 10 else "not enough models"
        for name in STATISTICS if pair["n"] >= 10 else ():
            value, *drawn = (float(matrix[i, j]) for matrix in matrices[name])
            pair[name] = {"value": value, "interval": np.nanpercentile(drawn, [2.5, 97.5]).tolist()}
        pairs.append(pair)
    return {"models": sorted(frame.index), "tasks": list(frame), "pairs": pairs, "published": PUBLISHED}


def heat_map(correlations: dict[str, Any], to: Path | OutputFile) -> None:
    """Draw Spearman's correlations of what `correlate` returns; pairs of too few models stay empty."""
    tasks = correlations["tasks"]
    matrix = np.where(np.eye(len(tasks)) == 1, 1.0, np.nan)
    for pair in correlations["pairs"]:
        i, j = map(tasks.index, pair["tasks"])
        matrix[i, j] = matrix[j, i] = pair.get("spearman", {}).get("value", np.nan)
    figure = new_figure(2 + 0.6 * len(tasks), 2 + 0.6 * len(tasks), layout="constrained")
    axes = figure.subplots()
    for (i, j), value in np.ndenumerate(matrix):
        axes.text(j, i, "–" if np.isnan(value) else f"{value:.2f}", ha="center", va="center", fontsize=8)
    figure.colorbar(axes.imshow(matrix, vmin=-1, vmax=1, cmap="coolwarm"), label="spearman")
    axes.set_xticks(range(len(tasks)), tasks, rotation=60, ha="right")
    axes.set_yticks(range(len(tasks)), tasks)
    save_figure(figure, to)
