"""Unicode's composed form (NFC), in linear time whatever the text."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

MOST_MARKS = 30
"""Combining marks kept in a row, as in Unicode's stream-safe text (UAX #15, section 13): no script needs as many, and
to put them in order takes the square of their number."""
_NO_MARKS_FROM = 0x20000
"""First character of the ideographic planes; from there on no character combines (the tests look at each)."""


def nfc(text: str) -> str:
    """Return `text` in NFC; of more than `MOST_MARKS` combining marks in a row the rest is left out."""
    if unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", _long_runs().sub(r"\1", text))


@cache
def _long_runs() -> re.Pattern[str]:
    marks = [code for code in range(_NO_MARKS_FROM) if unicodedata.combining(chr(code))]
    spans: list[list[int]] = []
    for code in marks:
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    inside = "".join(f"{chr(first)}-{chr(last)}" for first, last in spans)
    return re.compile(f"([{inside}]{{{MOST_MARKS}}})[{inside}]+")
