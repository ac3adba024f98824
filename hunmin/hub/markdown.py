"""Markdown of a card: tables, and names that other people gave, which are shown as they are and do nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable

from common.control_characters import escaped

SIGNS = re.compile(r"[&<>|`*\[\]\\~$]")
"""That make HTML, a link, a table's border, code, emphasis or a formula."""


def text(name: object) -> str:
    """Return a name as Markdown and HTML show it, in one line."""
    return SIGNS.sub(lambda found: f"&#{ord(found[0])};", escaped(" ".join(str(name).split())))


def pairs(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of two columns without a head; rows without a value are left out."""
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows if value)])


def fenced(content: str, language: str) -> str:
    """Return a block of code, within a fence that nothing in it ends."""
    longest = max((len(found) for found in re.findall("`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{content}{fence}"
