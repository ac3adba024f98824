"""Scores that are read: this project's results, lm-eval's, the board's, and CSV tables model,task,score."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.errors import UserError
from leaderboard.rows import read_rows
from leaderboard.suites import TASKS, scale_of

USUAL = ("acc_norm,none", "acc,none", "exact_match,none")
"""Metrics of tasks that are not of the suites: the first one that is there."""


@dataclass
class Score:
    """A model's score on a task; values are percent of the metric's scale."""

    model: str
    task: str
    metric: str
    value: float
    scores: dict[str, float] = field(default_factory=dict)  # all metrics
    facts: dict[str, Any] = field(default_factory=dict)  # what this project's result says beside them


def read_results(paths: Sequence[Path]) -> list[Score]:
    """Return the scores in files, or in folders' JSON files; UserError for a damaged file, or none at all."""
    found: list[Score] = []
    for path in [file for one in paths for file in (sorted(one.rglob("*.json")) if one.is_dir() else [one])]:
        try:
            if path.suffix == ".csv":
                found += [Score(row["model"], row["task"], "score", float(row["score"])) for row in read_rows(path)]
            else:
                found += _tree(json.loads(path.read_bytes()))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            rule = "results are JSON of lm-eval or the board, or CSV with model,task,score"
            raise UserError(f"cannot read {path}: {error!r}", rule, "fix it, or leave it out") from None
    if not found:
        raise UserError(f"no scores in {', '.join(map(str, paths))}", "", "name result files or their folders")
    models = {(score.model, score.facts.get("model", "")) for score in found}
    for score in found:  # two models may lie in folders of one name
        if sum(name == score.model for name, _ in models) > 1:
            score.model += f" ({score.facts.get('model', 'other')[:6]})"
    return found


def _tree(tree: Any) -> Iterator[Score]:
    tree = tree if isinstance(tree, dict) else {}
    facts, general = tree.get("hunmin") or {}, tree.get("config_general") or tree.get("config") or {}
    model = general.get("model_name") or tree.get("model_name") or general.get("model") or "?"
    for name, found in (tree.get("results") or {}).items():
        scores = {k: float(v) for k, v in found.items() if "," in k and "_stderr" not in k and v != "N/A"}
        strict = [scores.get(f"{by}_level_strict_acc,none") for by in ("prompt", "inst")]
        if name == "ko_ifeval" and None not in strict:  # the mean that the board takes
            scores.setdefault("ifeval,none", sum(filter(None, strict)) / 2)
        known = [facts["metric"]] if facts else [TASKS[name].metric] if name in TASKS else USUAL
        scores = {key: value * 100 / scale_of(key) for key, value in scores.items()}
        for metric in [key for key in known if key in scores][:1]:
            yield Score(str(model), name, metric, scores[metric], scores, facts)
