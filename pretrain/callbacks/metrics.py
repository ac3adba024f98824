"""Metrics of a run: JSON Lines always, trackers beside it where a recipe names them, never a reason to fail."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import IO, Any

from common.files import append_line, atomic_write, disk_errors, read_bytes
from common.progress import say
from common.results import AMOUNT, SHARE, check_numbers, refuse_unfit
from pretrain.callbacks.trackers import Tracker, require_trackers, start_trackers

STARTS = "starts.jsonl"
"""File in the logs of a run that has a line for each start of its training."""


class MetricsLog:
    """Appends rows to `metrics.jsonl`, and hands them to trackers; on resume, rows after the resumed step are cut off.

    Raises:
        UserError: a tracker's package is not installed.
    """

    def __init__(self, folder: Path, resumed_step: int, s: Any, config: dict[str, Any]) -> None:
        require_trackers(s)
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "metrics.jsonl"
        earlier = [row for row in read_metrics(self.path) if isinstance(row.get("step"), int)] if resumed_step else []
        rows = [row for row in earlier if row["step"] <= resumed_step]
        with atomic_write(self.path) as stream:  # a kill must not cost the rows so far
            stream.writelines(json.dumps(row) + "\n" for row in rows)
        self._stream: IO[str] = self.path.open("a", encoding="utf-8")
        self._trackers = start_trackers(s, folder, resumed_step, config)

    def log(self, row: dict[str, Any]) -> None:
        """Write one row, which has a "step"; DiskFullError where there is no space."""
        with disk_errors(self.path):
            self._stream.write(json.dumps(row) + "\n")
            self._stream.flush()
        values = {name: value for name, value in row.items() if name != "step"}
        self._on_each_tracker(lambda tracker: tracker.log(values, step=row["step"]))

    def close(self) -> None:
        """Flush and end the trackers' runs."""
        self._stream.close()
        self._on_each_tracker(lambda tracker: tracker.finish())

    def _on_each_tracker(self, call: Callable[[Tracker], object]) -> None:
        for name, tracker in list(self._trackers.items()):
            try:
                call(tracker)
            except Exception as error:
                del self._trackers[name]
                fault = f"{name} failed ({type(error).__name__})"
                say(f"warning: {fault}; metrics continue in {self.path.name}", style="yellow")


def note_start(folder: Path, step: int, processes: int, changed: Sequence[str] = ()) -> None:
    """Append a line to starts.jsonl, and warn of code that is not that of the checkpoint (`code_changes`)."""
    row: dict[str, Any] = {"time": datetime.now(timezone.utc).isoformat(timespec="seconds"), "step": step}
    row |= {"processes": processes, **({"changed": list(changed)} if changed else {})}
    if changed:
        say(f"warning: the checkpoint of step {step} was made by other code: {', '.join(changed)}", style="yellow")
    append_line(folder / STARTS, json.dumps(row))


RATES = dict.fromkeys(("step", "tokens", "tokens_per_second", "tflops"), AMOUNT)
"""Figures that a card and a plan reckon with → their bounds."""


def read_figures(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a training log, as `read_metrics`. Raises UserError where one is impossible."""
    for row in (rows := read_metrics(path)):
        refuse_unfit(path, partial(check_figures, row), own=False)
    return rows


def read_starts(folder: Path) -> list[dict[str, Any]]:
    """Return {"time", "step", "processes"} of each start, of the logs in a folder. Raises UserError for an odd one."""
    rows, path = read_metrics(folder / STARTS), folder / STARTS
    steps = [row.get("step", "") for row in rows]
    refuse_unfit(path, lambda: check_numbers(steps, name="step", bounds=AMOUNT), own=False)
    return rows


def check_figures(row: dict[str, Any]) -> None:
    """Raise one of `common.results.UNFIT` where a row has no step, something else for a rate, a negative figure, or an
    accuracy above 1; NaN and infinity are allowed."""
    known = {key: value for key, value in row.items() if value not in (math.inf, -math.inf) and value == value}
    check_numbers({"step": row["step"]} | known, lambda key: SHARE if key.endswith("accuracy") else RATES.get(key))


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a metrics file; a line that is none, as a kill cuts the last one short, is left out."""
    rows = []
    for line in read_bytes(path).decode().splitlines() if path.exists() else []:
        with suppress(ValueError):
            rows.append(json.loads(line))
    return [row for row in rows if isinstance(row, dict)]
