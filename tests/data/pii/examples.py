"""The invented texts of cases.txt: with their personal data, and those that only look like it."""

import re
from pathlib import Path
from typing import NamedTuple


class Case(NamedTuple):
    """A text, (start, end, type) of all that is found in it, and the values that are meant."""

    text: str
    spans: list[tuple[int, int, str]]
    values: list[str]


def parse(line: str) -> Case:
    """Return the case of a line of cases.txt."""
    line = re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), line)
    marked, *values = line.replace("⏎", "\n").replace("⇥", "\t").split(" ⇒ ")
    text, spans, position = "", [], 0
    for match in re.finditer(r"⟦(\w+):([^⟧]*)⟧", marked):
        text += marked[position : match.start()]
        spans.append((len(text), len(text) + len(match[2]), match[1]))
        text += match[2]
        position = match.end()
    text += marked[position:]
    return Case(text, spans, values or [text[start:end] for start, end, _ in spans])


_SECTIONS: dict[str, list[Case]] = {}
for _line in Path(__file__).with_name("cases.txt").read_text(encoding="utf-8").split("\n"):
    if _line.startswith("## "):
        _SECTIONS[_line[3:]] = _cases = []
    elif _line and _SECTIONS:
        _cases.append(parse(_line))

COMMON, BESIDE, OTHERWISE, FORMS, _NOTHING = _SECTIONS.values()
"""Cases of every type as it is commonly written, of values beside a label, written otherwise, and in use."""
NOTHING = [case.text for case in _NOTHING]
CASES = [*COMMON, *BESIDE, *OTHERWISE, *FORMS]
VALUES = [(case.spans[0][2], case.values[0]) for case in COMMON]
"""Type and value."""
