"""Numbers as people write them: 1.05T tokens, $12,300, 3.2 days."""

from __future__ import annotations


def count(value: float) -> str:
    """Return a count with three figures: 950, 12.3k, 110M, 1.05T."""
    for limit, suffix in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit * 0.9995:
            return f"{_three(value / limit)}{suffix}"
    return f"{value:,.0f}"


def size(value: float) -> str:
    """Return bytes with three figures, in decimal units: 512 B, 1.77 GB, 34.4 TB."""
    for limit, suffix in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if abs(value) >= limit * 0.9995:
            return f"{_three(value / limit)} {suffix}"
    return f"{value:.0f} B"


def money(value: float) -> str:
    """Return an amount: $0.85, $123, $12,300 (three figures from a thousand on)."""
    if value < 10:
        return f"${value:.2f}"
    digits = max(0, len(str(int(value))) - 3)
    return f"${round(value, -digits):,.0f}"


def time(seconds: float) -> str:
    """Return a duration in the unit that suits it: 42 s, 5.3 min, 7.1 hours, 3.2 days, 2.4 years."""
    year = 365.25 * 86400
    day = 86400.0
    hour = 3600.0
    minute = 60.0
    for least, unit, name in (
        (2 * year, year, "years"),
        (day, day, "days"),
        (hour, hour, "hours"),
        (60, minute, "min"),
    ):
        if seconds >= least:
            value = seconds / unit
            return f"{value:.1f} {name}" if value < 99.95 else f"{value:,.0f} {name}"
    if seconds >= 1:
        return f"{seconds:.0f} s" if seconds >= 9.95 else f"{seconds:.1f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds else "0 s"


def span(seconds: float) -> str:
    """Return a duration that nobody would time below a second: "under 1 s", else as `time`."""
    return time(seconds) if seconds >= 1 else "under 1 s"


def _three(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 9.995 else f"{value:.1f}" if abs(value) < 99.95 else f"{value:.0f}"
