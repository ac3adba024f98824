"""Scores of a model's checkpoints in a folder: a file a checkpoint, named by what it is of, their rows, their curve."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from common.files import write_text
from common.plots import can_plot
from common.progress import say
from common.settings import dump_settings, settings_hash
from klue.examples import files_hash
from klue.plot import draw_curve
from klue.settings import KlueSettings
from klue.tasks import get_task


def checkpoint_folder(out: Path, step: int) -> Path:
    """Return the folder of a checkpoint's scores."""
    return out / f"step-{step:08d}"


def identity(settings: KlueSettings, fingerprint: str | None) -> str:
    """Return what names scores: it stands for settings, their data, and the training that a checkpoint is of."""
    data = [files_hash(get_task(name), settings.folder_of(name), settings.source_of(name)) for name in settings.tasks]
    return settings_hash([dump_settings(settings), data, fingerprint])[:10]


def scores_file(out: Path, step: int, wanted: str) -> Path:
    """Return the file of a checkpoint's scores of an identity."""
    return checkpoint_folder(out, step) / f"scores-{wanted}.json"


def read_scores(path: Path) -> list[dict[str, Any]]:
    """Return a row {"step", "tokens", "task", "init", "best", …} a task and initialisation of a checkpoint; none where
    it has no scores, or their file is damaged."""
    try:
        scores = json.loads(path.read_bytes())
        return [{"step": scores["step"], "tokens": scores["tokens"], **entry} for entry in scores["scores"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def collect(out: Path, wanted: str) -> list[dict[str, Any]]:
    """Return the rows of all checkpoints that have scores of an identity, ascending."""
    return [row for path in sorted(out.glob(f"step-*/scores-{wanted}.json")) for row in read_scores(path)]


def write_scores(out: Path, rows: list[dict[str, Any]]) -> None:
    """Write scores.jsonl and scores.png into a folder, unless there are no rows or the files hold them already."""
    lines, curve = out / "scores.jsonl", out / "scores.png"
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if not rows or (curve.is_file() and lines.is_file() and lines.read_text(encoding="utf-8") == text):
        return
    if plotted := can_plot(str(curve)):
        draw_curve(rows, curve)
    write_text(lines, text)  # the last: where it holds the rows, the picture shows them
    say(f"watch: {curve if plotted else lines}")
