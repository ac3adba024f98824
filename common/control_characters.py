"""Control characters in names that other people gave: shown as escapes, and refused where a name becomes part of a line
of a script."""

from __future__ import annotations

import re

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0 and C1 controls, line separators, marks that change the direction of writing, and bytes that are not UTF-8."""


def escaped(text: str, keep: str = "\n\t") -> str:
    r"""Return a text without characters that a terminal obeys: as Python writes them in a string.

    >>> escaped("a\x1b[2J\nb")
    'a\\x1b[2J\nb'

    Args:
        text: for a person to read.
        keep: control characters that stay.
    """
    if text.isprintable():
        return text
    return CONTROL.sub(lambda match: match[0] if match[0] in keep else ascii(match[0])[1:-1], text)


def one_line(name: str) -> str:
    """Return a name as it is.

    Raises:
        ValueError: it is blank, or holds a control character.
    """
    if not name.strip():
        raise ValueError("it is blank")
    if match := CONTROL.search(name):
        raise ValueError(f"it holds the control character {ascii(match[0])[1:-1]}; names are one printable line")
    return name
