"""Tables of cases in text files: sections under lines `## name`, a case a line, its columns between ` ⇒ `."""

from __future__ import annotations

import re
from pathlib import Path


def sections(path: Path) -> dict[str, list[list[str]]]:
    """Return section → the columns of its cases; ⏎ is a line end, ⇥ a tab, \\uXXXX a character."""
    by_section: dict[str, list[list[str]]] = {}
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith("## "):
            cases = by_section[line[3:]] = []
        elif line and by_section:
            columns = line.replace("⏎", "\n").replace("⇥", "\t").split(" ⇒ ")
            cases.append([re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), text) for text in columns])
    return by_section
