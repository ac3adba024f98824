"""A folded view of a piece of text: in plain characters, each with its place in the original.

Full-width and mathematical digits, letters and punctuation become ASCII, other scripts' decimal digits too, rare
dashes and blanks become common ones, and what takes no space (zero-width characters, soft hyphens, the halves of
keycap emoji) is left out. Where nothing of it stands there is nothing to fold.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

_RARE_DASHES = (
    "\u02d7\u05be\u06d4\u07fa\u1173\u1806\u2043\u23af\u23bc\u23e4\u2500\u2501"
    "\u2574\u2796\u2e3a\u2e3b\u30fc\uff70\ufe31\ufe58\ufe63\uff0d\u2e17\u301c"
)
_RARE_BLANKS = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_STOPS = "\u3002\uff61\u2024\ufe52\uff0e"
_ZEROS = (0x660, 0x6F0, 0x966, 0x9E6, 0xE50)
"""Digit zero of the Arabic, Persian, Devanagari, Bengali and Thai scripts."""
_NOTHING = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20e3\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0001-\U000e007f"
)


def _table() -> dict[int, str]:
    table = {}
    for code in (*range(0xFF01, 0xFF5F), *range(0xFE50, 0xFE6C), *range(0x1D400, 0x1D800), *range(0x1FBF0, 0x1FBFA)):
        plain = unicodedata.normalize("NFKC", chr(code))
        if len(plain) == 1 and plain.isascii():
            table[code] = plain
    for zero in _ZEROS:
        table |= {zero + number: str(number) for number in range(10)}
    return (
        table
        | dict.fromkeys(map(ord, _RARE_DASHES), "-")
        | dict.fromkeys(map(ord, _RARE_BLANKS), " ")
        | dict.fromkeys(map(ord, _STOPS), ".")
    )


_TABLE = _table()
_DROPPED = re.compile(f"[{_NOTHING}]")


def _class(characters: str) -> str:
    """Return the inside of a character class in RE2 syntax."""
    return "".join(f"\\x{{{ord(c):X}}}" if c != "-" else "-" for c in characters)


_DIGITS_AND_LETTERS = r"\x{FF10}-\x{FF19}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{1D400}-\x{1D7FF}\x{FF20}\x{FE6B}"
_OTHER_DIGITS = (
    r"\x{0660}-\x{0669}\x{06F0}-\x{06F9}\x{0966}-\x{096F}\x{09E6}-\x{09EF}\x{0E50}-\x{0E59}\x{1FBF0}-\x{1FBF9}"
)
_JOINTS = _class(_RARE_DASHES + _STOPS + "\uff1a\uff0f\uff3f\uff0b")
_BLANKS = _class(_RARE_BLANKS)
_INVISIBLE = re.sub("[^-]", lambda m: _class(m[0]), _NOTHING)
FOLD_GATE = (
    rf"[{_DIGITS_AND_LETTERS}{_OTHER_DIGITS}]"
    rf"|[0-9A-Za-z][{_JOINTS}][0-9A-Za-z/\x{{FF0F}}]"
    rf"|[0-9][ {_BLANKS}]?[{_JOINTS}\x{{FF08}}\x{{FF09}}][ {_BLANKS}]?[0-9]|\x{{FF08}}0[1-9]"
    rf"|[0-9@.:/\-][{_INVISIBLE}]+[0-9A-Za-z가-힣@.:/(\-]|[가-힣A-Za-z)][{_INVISIBLE}]+[0-9@.:/\-]|[A-Za-z][{_INVISIBLE}]+[A-Za-z]"
    rf"|[0-9][{_BLANKS}][0-9(\-]|[\-)][{_BLANKS}][0-9]"
)
"""Found on every line on which folding can show a value that does not stand there plainly."""


class View(NamedTuple):
    """A text, and for each of its characters the place in the original; the last place is where the view ends."""

    text: str
    places: Sequence[int]

    def extent(self, start: int, end: int) -> tuple[int, int]:
        """Return the extent in the original of characters start..end, with all that was left out within."""
        return self.places[start], self.places[end - 1] + 1


def fold(text: str, start: int, end: int) -> View:
    """Return the folded view of text[start:end]."""
    piece = text[start:end].translate(_TABLE)
    if _DROPPED.search(piece) is None:
        return View(piece, range(start, end))
    kept = [index for index, character in enumerate(piece) if _DROPPED.match(character) is None]
    return View("".join(piece[index] for index in kept), [start + index for index in kept])


def is_folded_sign(character: str) -> bool:
    """Return whether a character stands for an ASCII letter or digit."""
    return character != "" and _TABLE.get(ord(character), " ").isalnum()
