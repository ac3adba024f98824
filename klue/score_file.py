"""Score a predictions file against a gold file, as the benchmark's authors would."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from common.bounded import json_lines
from common.errors import UserError
from common.progress import ProgressBar, say
from klue.examples import read_examples
from klue.metrics.confidence import central_interval, drawn_scores
from klue.synthetic import TOLD, is_synthetic
from klue.tasks import get_task
from klue.tasks.base import Task
from klue.tasks.fields import shown

DRAWS = 1000
"""Samples of the bootstrap."""
RULE = 'predictions are JSON Lines {"guid", "prediction"}, every gold guid exactly once, in any order'


def score(
    task: str, gold_path: str | Path, predictions_path: str | Path, subset: bool = False, interval: bool = False
) -> dict[str, float | int | list[float] | None]:
    """Return the task's metrics × 100, and `examples`, how many were scored; a metric that is undefined is None.

    With `interval` there is METRIC_interval, too: the ends of its 95% bootstrap interval over examples.

    Args:
        subset: score what is predicted, even where gold guids are missing.
        interval: whether to compute confidence intervals: seconds, half a minute for KLUE-RE.

    Raises:
        UserError: a file is damaged, a prediction has not the task's form, or a guid is missing, extra or repeated
            (the first one is named).
    """
    kind = get_task(task)
    gold = {example.guid: example.label for example in read_examples(kind, Path(gold_path))}
    if any(map(is_synthetic, gold)):
        say(f"{gold_path}: {TOLD}", style="yellow")
    predictions = read_predictions(kind, Path(predictions_path), gold)
    missing = [guid for guid in gold if guid not in predictions]
    if missing and not subset:
        raise UserError(
            f"{predictions_path}: no prediction for {missing[0]} ({len(missing)} of {len(gold)} are missing)",
            RULE,
            "predict the rest, or score what is there with --subset",
        )
    guids = [guid for guid in gold if guid in predictions]
    if not guids:
        raise UserError(f"{predictions_path} holds no predictions", RULE)
    odd = [kind.odd(predictions[guid], gold[guid]) for guid in guids]
    if any(odd):
        where = sum(map(bool, odd))
        found_in = f"{sum(odd):,} {kind.odd_name}, in {where:,} of {len(guids):,} examples"
        say(f"{predictions_path}: {found_in}: they count as wrong", style="yellow")
    sides = [gold[guid] for guid in guids], [predictions[guid] for guid in guids]
    result: dict[str, float | int | list[float] | None] = {k: defined(v) for k, v in kind.score(*sides).items()}
    if interval:
        with ProgressBar("bootstrap", DRAWS, "draws") as bar:
            drawn = drawn_scores(kind.weighted, sides[0], [[sides[1]]], DRAWS, each=lambda: bar.advance(1))
        ends = {name: central_interval(scores[:, 0]) for name, scores in drawn.items()}
        result |= {f"{name}_interval": [low, high] for name, (low, high) in ends.items() if not math.isnan(low)}
    return {**result, "examples": len(guids)}


def defined(value: float) -> float | None:
    """Return the value, or None for nan, which JSON has no word for."""
    return None if math.isnan(value) else value


def read_predictions(task: Task, path: Path, gold: dict[str, Any]) -> dict[str, Any]:
    """Return guid → prediction. Raises UserError that names the line with a wrong form, guid or prediction."""
    predictions: dict[str, Any] = {}
    unlabelled = {guid for guids in task.set_aside.values() for guid in guids}
    for number, record in json_lines(path, RULE):
        try:
            guid, prediction = record["guid"], record["prediction"]
        except (KeyError, TypeError):
            raise UserError(f"{path}, line {number} is not a prediction", RULE) from None
        if guid in unlabelled:
            continue
        if not isinstance(guid, str) or guid not in gold:
            raise UserError(f"{path}, line {number}: guid {shown(guid)} is not in the gold file", RULE)
        if guid in predictions:
            raise UserError(f"{path}, line {number}: guid {guid!r} is repeated", RULE)
        try:
            predictions[guid] = task.check(prediction, gold[guid])
        except (ValueError, TypeError) as error:
            raise UserError(f"{path}, line {number} ({guid}): {error}", RULE) from None
    return predictions


def write_predictions(
    stream: Any, guids: list[str], predictions: list[Any], more: list[dict[str, Any]] | None = None
) -> None:
    """Write a predictions file's lines to a text stream, and in each what `more` has for it."""
    for number, (guid, prediction) in enumerate(zip(guids, predictions, strict=True)):
        record = {"guid": guid, "prediction": prediction}
        record |= more[number] if more else {}
        stream.write(json.dumps(record, ensure_ascii=False) + "\n")
