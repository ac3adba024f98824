"""Tasks that `hunmin sample` invents in the form of KLUE's: their data bear a mark, and their scores say so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

MARK = "hunmin-sample-"
"""What the guids of invented examples begin with."""
NOTE = "synthetic (hunmin sample)"
"""What stands where their scores stand."""
TOLD = "These are not scores of the benchmark: the data is synthetic. They only show that the pipeline works."


def is_synthetic(guid: str) -> bool:
    """Return whether an example of that guid is invented."""
    return guid.startswith(MARK)


def all_synthetic(rows: Sequence[dict[str, Any]]) -> bool:
    """Return whether there are result rows, and all are of invented data."""
    return bool(rows) and {row["task"] for row in rows} <= synthetic_tasks(rows)


def synthetic_tasks(rows: Iterable[dict[str, Any]]) -> set[str]:
    """Return the tasks of result rows, or of a summary's entries, whose data are invented."""
    return {row["task"] for row in rows if NOTE in row.get("data_note", "")}
