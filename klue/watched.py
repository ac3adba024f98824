"""Scores of a model's checkpoints in a folder, one after the other: whose they are, their rows, their curve."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from common.files import atomic_write
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


def identity(settings: KlueSettings, fingerprint: str | None) -> dict[str, Any]:
    """Return what scores are of: settings, their data, and the training that a checkpoint is of."""
    tasks = [files_hash(get_task(name), settings.folder_of(name), settings.source_of(name)) for name in settings.tasks]
    return {
        "settings": settings_hash(dump_settings(settings)),
        "data": settings_hash(tasks),
        "fingerprint": fingerprint,
    }


def scored(out: Path, step: int, wanted: dict[str, Any]) -> bool:
    """Return whether a checkpoint has its scores, of the identity that is wanted."""
    path = checkpoint_folder(out, step) / "scores.json"
    return path.is_file() and wanted.items() <= json.loads(path.read_bytes()).items()


def collect(out: Path, wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one row a task and initialisation of each checkpoint that has scores of the identity that is wanted.

    Rows are {"step", "tokens", "task", "init", "best", …}; scores by other settings, or of an earlier training in the
    same folder, are left out.
    """
    rows = []
    for path in sorted(out.glob("step-*/scores.json")):
        found = json.loads(path.read_bytes())
        if wanted.items() <= found.items():
            rows += [{"step": found["step"], "tokens": found["tokens"], **entry} for entry in found["scores"]]
    return rows


def write_scores(out: Path, rows: list[dict[str, Any]]) -> None:
    """Write scores.jsonl and scores.png into a folder, unless there are no rows or the files hold them already."""
    lines, curve = out / "scores.jsonl", out / "scores.png"
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if not rows or (curve.is_file() and lines.is_file() and lines.read_text(encoding="utf-8") == text):
        return
    if plotted := can_plot(str(curve)):
        draw_curve(rows, curve)
    with atomic_write(lines) as stream:  # the last: where it holds the rows, the picture shows them
        stream.write(text)
    say(f"watch: {curve if plotted else lines}")
