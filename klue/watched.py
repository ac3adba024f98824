"""Scores of a model's checkpoints in a folder: a file a checkpoint, named by what it is of, their rows, their curve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from common.errors import HunminError
from common.files import write_text
from common.plots import can_plot
from common.progress import say
from common.results import check_distinct, check_numbers, encoded, read_result, refuse_unfit
from common.settings import dump_settings, settings_hash
from klue.examples import files_hash
from klue.plot import draw_curve
from klue.result_rows import bounds_of
from klue.settings import KlueSettings
from klue.tasks import TASKS, get_task

LINES = "scores.jsonl"
"""Rows of all checkpoints, for people and the page."""


def checkpoint_folder(out: Path, step: int) -> Path:
    """Return the folder of a checkpoint's scores."""
    return out / f"step-{step:08d}"


def identity(settings: KlueSettings, fingerprint: str | None) -> str:
    """Return what names scores: it stands for settings, their data, and the training that a checkpoint is of."""
    data = [files_hash(get_task(name), settings.folder_of(name), settings.source_of(name)) for name in settings.tasks]
    return settings_hash([dump_settings(settings), data, fingerprint])[:10]


def scores_file(out: Path, step: int, key: str) -> Path:
    """Return the file of a checkpoint's scores of an identity."""
    return checkpoint_folder(out, step) / f"scores-{key}.json"


def read_scores(path: Path) -> list[dict[str, Any]]:
    """Return a row {"step", "tokens", "task", "init", "best", …} a task and initialisation of a checkpoint; none where
    it has no scores, or their file is damaged or was changed: they are made again."""
    try:
        scores = read_result(path, sealed=True, check=lambda scores: check_numbers(scores, bounds_of))
        return [{"step": scores["step"], "tokens": scores["tokens"], **entry} for entry in scores["scores"]]
    except (HunminError, KeyError, TypeError):
        return []


def watched_rows(out: Path) -> list[dict[str, Any]]:
    """Return the rows of scores.jsonl in a folder, none without it. Raises DamagedError where it was changed."""

    def check(row: dict[str, Any]) -> None:
        check_numbers(row, bounds_of)
        _ = row["init"], row["step"], row["tokens"], row["best"][TASKS[row["task"]].selection]["mean"]

    path = out / LINES
    fix = "remove it: hunmin klue watch RUN writes it again"
    rows: list[dict[str, Any]] = read_result(path, check, fix, sealed=True) if path.is_file() else []
    refuse_unfit(path, lambda: check_distinct(rows, "step", "task", "init"), fix)
    return rows


def collect(out: Path, key: str) -> list[dict[str, Any]]:
    """Return the rows of all checkpoints that have scores of an identity, ascending."""
    return [row for path in sorted(out.glob(f"step-*/scores-{key}.json")) for row in read_scores(path)]


def write_scores(out: Path, rows: list[dict[str, Any]]) -> None:
    """Write scores.jsonl and scores.png into a folder, unless there are no rows or the files hold them already."""
    lines, curve = out / LINES, out / "scores.png"
    text = "".join(encoded(row, None).decode() + "\n" for row in rows)
    if not rows or (curve.is_file() and lines.is_file() and lines.read_bytes() == text.encode()):
        return
    if plotted := can_plot(str(curve)):
        draw_curve(rows, curve)
    write_text(lines, text)  # the last: where it holds the rows, the picture shows them
    say(f"watch: {curve if plotted else lines}")
