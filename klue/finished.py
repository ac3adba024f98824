"""What finished jobs left in a stage's folder: their result rows, and the files that gather them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.files import atomic_write
from common.progress import say
from klue.gold import with_test_scores
from klue.model_folder import ModelFacts
from klue.plan import Job
from klue.results import sort_rows, summarize
from pretrain.callbacks.metrics import read_metrics


def finished_row(job: Job) -> dict[str, Any] | None:
    """Return the result row of a job that finished with the same settings, model and data, else None."""
    row = _read(Path(job.out) / "result.json")
    if row is None or row.get("fingerprint") != job.fingerprint:
        return None
    # one that is to leave its model and has not is done again
    return row if not job.save_model or (Path(job.out) / "model" / "klue.json").is_file() else None


def take_over(earlier: Path, out: Path) -> None:
    """Copy the finished jobs of an earlier stage's folder into a new one, which appears whole or not at all."""
    copy = out.with_name(f".{out.name}.tmp")
    shutil.rmtree(copy, ignore_errors=True)
    for name in ("jobs", "logs"):
        if (earlier / name).is_dir():
            shutil.copytree(earlier / name, copy / name)
    copy.rename(out)


def write_results(
    jobs: Sequence[Job], model: ModelFacts, data: Mapping[str, str], out: Path, test: bool = True
) -> None:
    """Write results.jsonl and summary.json of all jobs in the folder that finished with a model, of any command.

    Args:
        jobs: those of the command at hand; what an earlier one left under their names, or of their tasks by other
            settings, does not count.
        model: facts about the model; rows of others are left out, and counted on stderr.
        data: task → what identifies its files, for the command's tasks; of another task what the results so far are
            of, else the newest row's counts.
    """
    planned = {job.name: job for job in jobs}
    found = []
    for path in sorted(out.glob("jobs/*/result.json"), key=lambda path: path.stat().st_mtime_ns):
        job = planned.get(path.parent.name)
        row = finished_row(job) if job else _read(path)
        if row:
            found.append({**row, "job": path.parent.name})
    mine = [row for row in found if row.get("model_hash") == model.hash_for(row.get("init", ""))]
    # the files' times come last: the clock may have been set back between two commands
    before = read_metrics(out / "results.jsonl")
    known = [row for row in before if row.get("model_hash") == model.hash_for(row.get("init", ""))]
    data = {row["task"]: row["data_hash"] for row in [*mine, *known]} | dict(data)
    mine = [{**row, "model": model.name} for row in mine if row["data_hash"] == data[row["task"]]]
    # of what the command at hand asks for, an earlier one's jobs count only where they were trained alike: a seed that
    # is left over of other settings must not pass for a choice
    asked = {(job.task, job.init) for job in jobs}
    values = {_trained(row) for row in mine if row["fingerprint"] in {job.fingerprint for job in jobs}}
    mine = [row for row in mine if (row["task"], row["init"]) not in asked or _trained(row) in values]
    if len(mine) < len(found):
        left_out = f"{len(found) - len(mine):,} finished jobs in {out} are of another model, other data or settings"
        say(f"klue: {left_out}: they are not in the results", style="yellow")
    # one of a search and one by itself may have been the same
    rows = sort_rows({row["fingerprint"]: row for row in mine}.values())
    rows = with_test_scores(rows, out) if test else rows
    with atomic_write(out / "results.jsonl") as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    with atomic_write(out / "summary.json") as stream:
        json.dump(summarize(rows), stream, ensure_ascii=False, indent=1)
        stream.write("\n")


def _trained(row: dict[str, Any]) -> tuple[str, str, str]:
    """Return a row's task, initialisation and settings."""
    return row["task"], row["init"], json.dumps(row["settings"], sort_keys=True)


def _read(path: Path) -> dict[str, Any] | None:
    """Return a job's result row, or None where there is none, or one that is damaged."""
    try:
        row = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return row if isinstance(row, dict) and "fingerprint" in row else None
