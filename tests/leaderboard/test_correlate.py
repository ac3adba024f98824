"""Correlations against scipy, a planted one, too few models, group means, the heat map."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from common.errors import UserError
from common.plots import plot_file
from leaderboard.correlate import correlate, heat_map
from leaderboard.suites import SUITES, TASKS


def table(path: Path, scores: dict[str, list[float | None]]) -> Path:
    lines = ["model,task,score"]
    for task, values in scores.items():
        lines += [f"m{number},{task},{value}" for number, value in enumerate(values) if value is not None]
    path.write_text("\n".join(lines) + "\n")
    return path


def pair(correlations: dict, *tasks: str) -> dict:
    return next(entry for entry in correlations["pairs"] if set(entry["tasks"]) == set(tasks))


def test_against_scipy(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    first, second = draw.normal(size=30), draw.normal(size=30).round(1)  # with ties
    third = [*second[:20], *([None] * 10)]
    table_of = correlate([table(tmp_path / "t.csv", {"a": [*first], "b": [*second], "c": third})], resamples=50)
    for name, function in (("pearson", pearsonr), ("spearman", spearmanr), ("kendall", kendalltau)):
        assert pair(table_of, "a", "b")[name]["value"] == pytest.approx(function(first, second).statistic, abs=1e-12)
        assert pair(table_of, "a", "c")[name]["value"] == pytest.approx(
            function(first[:20], second[:20]).statistic, abs=1e-12
        )
        assert pair(table_of, "b", "c")[name]["value"] == pytest.approx(1)
    assert pair(table_of, "a", "c")["n"] == 20 and pair(table_of, "a", "b")["n"] == 30
    assert table_of["published"]["value"] == 0.36 and "statistic" in table_of["published"]["unknown"]


def test_a_planted_correlation_lies_in_the_interval(tmp_path: Path) -> None:
    draw = np.random.default_rng(7)
    first = draw.normal(size=120)
    second = 0.6 * first + 0.8 * draw.normal(size=120)
    correlations = correlate([table(tmp_path / "t.csv", {"a": [*first], "b": [*second]})], resamples=200)
    low, high = correlations["pairs"][0]["pearson"]["interval"]
    assert low < 0.6 < high and 0.1 < high - low < 0.4
    low, high = correlations["pairs"][0]["spearman"]["interval"]
    assert low < 6 / np.pi * np.arcsin(0.6 / 2) < high  # Spearman's rho of a normal pair
    assert correlations == correlate([tmp_path / "t.csv"], resamples=200)


def test_under_ten_models_are_not_enough(tmp_path: Path) -> None:
    correlations = correlate([table(tmp_path / "t.csv", {"a": [*range(9)], "b": [*range(9)]})])
    assert correlations["pairs"] == [{"tasks": ["a", "b"], "n": 9, "note": "not enough models"}]
    correlations = correlate([table(tmp_path / "t.csv", {"a": [*range(10)], "b": [*range(10)]})], resamples=20)
    assert correlations["pairs"][0]["spearman"]["value"] == pytest.approx(1) and correlations["pairs"][0]["note"] == ""


def test_scores_of_some_rows_alone_are_left_out(tmp_path: Path) -> None:
    table(tmp_path / "t.csv", {"a": [*range(10)], "b": [*range(10)]})
    results = {task: {"acc,none": 0.5} for task in ("a", "b")}
    tree = {"model_name": "limited", "config": {"limit": 5}, "results": results}
    (tmp_path / "r.json").write_text(json.dumps(tree))
    correlations = correlate([tmp_path / "t.csv", tmp_path / "r.json"], resamples=2)
    assert "limited" not in correlations["models"] and correlations["pairs"][0]["n"] == 10


def test_group_means(tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    scores = {task: 50 + draw.normal(size=12) for task in SUITES["leaderboard2"]}
    pairs = correlate([table(tmp_path / "t.csv", {task: [*values] for task, values in scores.items()})], resamples=20)
    groups = [
        np.mean([scores[task] for task in scores if TASKS[task].kind == kind], axis=0)
        for kind in ("likelihood", "generation")
    ]
    means = pair(pairs, "mean likelihood", "mean generation")
    assert means["n"] == 12 and means["pearson"]["value"] == pytest.approx(pearsonr(*groups).statistic, abs=1e-12)
    assert len(pairs["pairs"]) == 11 * 10 / 2
    heat_map(pairs, tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    few = correlate([table(tmp_path / "few.csv", {"a": [1.0, 2.0], "b": [1.0, 2.0]})])
    heat_map(few, tmp_path / "few.svg")
    assert "–" in (tmp_path / "few.svg").read_text() or (tmp_path / "few.svg").stat().st_size > 1000
    with pytest.raises(UserError, match=r"x.foo has another ending"):
        plot_file(tmp_path / "x.foo", "--plot")
