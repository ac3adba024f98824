"""Fields of records and predictions: read, and refused with the value where they are not what a task allows."""

from __future__ import annotations

import math
from typing import Any

from data.nfc import composed


def text_field(record: dict[str, Any], name: str) -> str:
    """Return a record's text, composed. Raises KeyError where it is missing, ValueError where it is not text."""
    return composed(given_text(record, name))


def given_text(record: dict[str, Any], name: str) -> str:
    """Return a record's text as given, where labels or answers stand at its characters. Raises as `text_field`."""
    value = record[name]
    if not isinstance(value, str):
        raise ValueError(f"'{name}' is not text")
    return value


def value_at(record: Any, way: str) -> Any:
    """Return the value of a field, or of a field within fields: labels.real-label. Raises KeyError where it is not."""
    if way in record or "." not in way:
        return record[way]
    outer, inner = way.split(".", 1)
    return value_at(record[outer], inner)


def one_of(value: Any, labels: tuple[str, ...], name: str) -> str:
    """Return the value if it is one of a set of labels. Raises ValueError where it is not."""
    value = composed(value) if isinstance(value, str) else value
    if value not in labels:
        raise ValueError(f"{shown(value)} is not a label of {name}; labels: {', '.join(labels)}")
    return str(value)


def finite(value: Any, name: str) -> float:
    """Return the value if it is a finite number. Raises ValueError where it is not."""
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, (int, float)) else float(value)
    except OverflowError:  # an integer of hundreds of digits
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{shown(value)} is not a finite number; predictions of {name} are numbers")
    return number


def shown(value: Any) -> str:
    """Return a value as a message shows it: cut short where it is long."""
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a number of dozens of digits"
    return text if len(text) <= 80 else f"{text[:77]}…"


def published_keys(*metrics: str) -> dict[str, str]:
    """Return `Task.as_published` of some metrics."""
    return {metric: f"{metric}_as_published" for metric in metrics}
