"""The invented texts of cases.txt: with their personal data, and those that only look like it."""

import re
from pathlib import Path
from typing import NamedTuple

from ..cases import sections


class Case(NamedTuple):
    """A text, (start, end, type) of all that is found in it, and the values that are meant."""

    text: str
    spans: list[tuple[int, int, str]]
    values: list[str]


def parse(marked: str, *values: str) -> Case:
    """Return the case of a line of cases.txt."""
    text, spans, position = "", [], 0
    for match in re.finditer(r"⟦(\w+):([^⟧]*)⟧", marked):
        text += marked[position : match.start()]
        spans.append((len(text), len(text) + len(match[2]), match[1]))
        text += match[2]
        position = match.end()
    text += marked[position:]
    return Case(text, spans, list(values) or [text[start:end] for start, end, _ in spans])


_SECTIONS = sections(Path(__file__).with_name("cases.txt")).values()
COMMON, BESIDE, OTHERWISE, FORMS, _NOTHING = ([parse(*one) for one in section] for section in _SECTIONS)
"""Cases of every type as it is commonly written, of values beside a label, written otherwise, and in use."""
NOTHING = [case.text for case in _NOTHING]
CASES = [*COMMON, *BESIDE, *OTHERWISE, *FORMS]
VALUES = [(case.spans[0][2], case.values[0]) for case in COMMON]
"""Type and value."""
