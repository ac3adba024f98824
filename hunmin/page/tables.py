"""Numbers as the templates show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

NONE = "–"
"""Sign in the place of a value that is not there."""


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows; a cell that begins with "*" is in bold."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | None]]


def count(value: float | None) -> str:
    """Return a whole number with separators, or a dash."""
    return NONE if value is None else f"{value:,.0f}"


def percent(part: float, whole: float, digits: int = 1) -> str:
    """Return a share in percent, or a dash of nothing."""
    return f"{100 * part / whole:.{digits}f}%" if whole else NONE


def signed(value: float) -> str:
    """Return a difference with its sign: +1.50, −0.25."""
    return f"{value:+.2f}".replace("-", "−")


def moment(seconds: float) -> str:
    """Return a time, seconds since 1970, in UTC."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def by_count(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the items with a count above 0, the most frequent first."""
    return sorted(((name, n) for name, n in counts.items() if n), key=lambda item: (-item[1], item[0]))


def change(first: float, last: float) -> str:
    """Return the first and the last value of a loss, one of them where their digits are the same: 9.500 → 4.750."""
    return " → ".join(dict.fromkeys((f"{first:.3f}", f"{last:.3f}")))
