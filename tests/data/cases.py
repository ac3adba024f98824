"""Tables of cases in text files: sections under lines `## name`, a case a line, its columns between ` ⇒ `."""

from __future__ import annotations

import re
from pathlib import Path


def sections(path: Path) -> dict[str, list[list[str]]]:
    """Return section → the columns of its cases; ⏎ is a line end, ⇥ a tab, \\uXXXX a character."""
    found: dict[str, list[list[str]]] = {}
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith("## "):
            cases = found[line[3:]] = []
        elif line and found:
            columns = line.replace("⏎", "\n").replace("⇥", "\t").split(" ⇒ ")
            cases.append([re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), one) for one in columns])
    return found
