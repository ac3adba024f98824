"""A folded view of a piece of text: in plain characters, each with its place in the original.

Full-width and mathematical digits, letters and punctuation become ASCII, other scripts' decimal digits too, rare
dashes and blanks become common ones, and what takes no space (zero-width characters, soft hyphens, the halves of
keycap emoji) is left out. Character references (&#45;) and signs in brackets ([.]) become the sign that they stand
for. Where nothing of it stands there is nothing to fold.
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


def _digits(zero: int) -> str:
    return "".join(chr(zero + number) for number in range(10))


_MARK_FAMILIES = (
    *("⓪①②③④⑤⑥⑦⑧⑨", "⓿❶❷❸❹❺❻❼❽❾", "🄋➀➁➂➃➄➅➆➇➈", "🄌➊➋➌➍➎➏➐➑➒", "⓪⓵⓶⓷⓸⓹⓺⓻⓼⓽"),
    *("🄀⒈⒉⒊⒋⒌⒍⒎⒏⒐", "⓪⑴⑵⑶⑷⑸⑹⑺⑻⑼", _digits(0x1F101)),
)
_SMALL_FAMILIES = ("⁰¹²³⁴⁵⁶⁷⁸⁹", _digits(0x2080))
DIGIT_FAMILIES = (
    *_MARK_FAMILIES,
    *_SMALL_FAMILIES,
    *map(_digits, (*_ZEROS, 0xFF10, 0x1FBF0, *range(0x1D7CE, 0x1D800, 10))),
)
"""The digits 0 to 9 in each way of writing them."""
_SMALL = {sign: str(number) for family in _SMALL_FAMILIES for number, sign in enumerate(family)}
CIRCLED = {sign: str(number) for family in _MARK_FAMILIES for number, sign in enumerate(family)}
"""Digits that are also the marks of notes and of lists: one of them beside a number is no part of it."""


def _table() -> dict[int, str]:
    table = {}
    for code in (*range(0xFF01, 0xFF5F), *range(0xFE50, 0xFE6C), *range(0x1D400, 0x1D800), *range(0x1FBF0, 0x1FBFA)):
        plain = unicodedata.normalize("NFKC", chr(code))
        if len(plain) == 1 and plain.isascii():
            table[code] = plain
    for family in DIGIT_FAMILIES:
        table |= {ord(sign): str(number) for number, sign in enumerate(family)}
    return (
        table
        | dict.fromkeys(map(ord, _RARE_DASHES), "-")
        | dict.fromkeys(map(ord, _RARE_BLANKS), " ")
        | dict.fromkeys(map(ord, _STOPS), ".")
        | dict.fromkeys(map(ord, "ⓐⒶ"), "@")
    )


_TABLE = _table()
_DROPPED = re.compile(f"[{_NOTHING}]")
_KEYCAP = re.compile("[\ufe0f\u20e3]*")
_NAMES = {
    **dict.fromkeys(("nbsp", "ensp", "emsp", "thinsp"), " "),
    **dict.fromkeys(("hyphen", "dash", "ndash", "mdash", "minus"), "-"),
    **dict(zip(("commat", "period", "colon", "sol", "num", "lpar", "rpar"), "@.:/#()", strict=True)),
}
_ENTITIES = "|".join(_NAMES)
_WRITTEN = re.compile(
    r"&(?:#(?P<code>[0-9]{2,5})|#[xX](?P<hex>[0-9a-fA-F]{2,4})"
    rf"|(?P<name>{_ENTITIES}));"
    r"|(?<=[0-9A-Za-z])%(?P<percent>2[DdEe]|40)(?=[0-9A-Za-z])"
    r"|(?<=[0-9A-Za-z가-힣])[\[({](?P<sign>[.:])[\])}](?=[0-9A-Za-z가-힣/])"
)


def _class(characters: str) -> str:
    return "".join(f"\\x{{{ord(c):X}}}" if c != "-" else "-" for c in characters)


_DIGITS_AND_LETTERS = r"\x{FF10}-\x{FF19}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{1D400}-\x{1D7FF}\x{FF20}\x{FE6B}"
_OTHER_DIGITS = (
    r"\x{0660}-\x{0669}\x{06F0}-\x{06F9}\x{0966}-\x{096F}\x{09E6}-\x{09EF}\x{0E50}-\x{0E59}\x{1FBF0}-\x{1FBF9}"
)
_MARKS = _class("".join(_SMALL | CIRCLED))
_JOINTS = _class(_RARE_DASHES + _STOPS + "\uff1a\uff0f\uff3f\uff0b\uff5e")
_BLANKS = _class(_RARE_BLANKS)
_INVISIBLE = re.sub("[^-]", lambda m: _class(m[0]), _NOTHING)
FOLD_GATE = (
    rf"[{_DIGITS_AND_LETTERS}{_OTHER_DIGITS}]"
    rf"|[{_MARKS}][{_MARKS}]|[{_MARKS}][-.][{_MARKS}]|[0-9A-Za-z]%(?:2[DdEe]|40)[0-9A-Za-z]"
    rf"|[0-9A-Za-z][{_JOINTS}][0-9A-Za-z/\x{{FF0F}}]"
    rf"|[0-9][ {_BLANKS}]?[{_JOINTS}\x{{FF08}}\x{{FF09}}][ {_BLANKS}]?[0-9]|\x{{FF08}}0[1-9]"
    rf"|[0-9@.:/\-][{_INVISIBLE}]+[0-9A-Za-z가-힣@.:/(\-]|[가-힣A-Za-z)][{_INVISIBLE}]+[0-9@.:/\-]|[A-Za-z][{_INVISIBLE}]+[A-Za-z]"
    rf"|[0-9][{_BLANKS}][0-9(\-]|[\-)][{_BLANKS}][0-9]|[가-힣][{_INVISIBLE}]+ [0-9]"
    rf"|&#(?:[0-9]{{2,5}}|[xX][0-9a-fA-F]{{2,4}});|[0-9A-Za-z]&(?:{_ENTITIES});"
    r"|[0-9A-Za-z가-힣][\[({][.:][\])}][0-9A-Za-z가-힣/]|hxxps?|[0-9A-Za-z_][ⓐⒶ][0-9A-Za-z]"
)
"""Found on every line on which folding can show a value that does not stand there plainly."""


class View(NamedTuple):
    """A text, for each of its characters the place in the original, and where that ends if it is not the next one."""

    text: str
    places: Sequence[int]
    ends: Sequence[int] | None = None

    def extent(self, start: int, end: int) -> tuple[int, int]:
        """Return the extent in the original of characters start..end, with all that was left out within."""
        return self.places[start], self.ends[end - 1] if self.ends else self.places[end - 1] + 1


def fold(text: str, start: int, end: int) -> View:
    """Return the folded view of text[start:end]."""
    piece = text[start:end].translate(_TABLE).replace("hxxp", "http")
    if _WRITTEN.search(piece) is not None:
        return _spelled_out(piece, start)
    if _DROPPED.search(piece) is None:
        return View(piece, range(start, end))
    indices = [index for index, character in enumerate(piece) if _DROPPED.match(character) is None]
    ends = [start + index + len(_KEYCAP.match(piece, index + 1)[0]) + 1 for index in indices]  # type: ignore[index]
    return View("".join(piece[index] for index in indices), [start + index for index in indices], ends)


def _spelled_out(piece: str, start: int) -> View:
    characters: list[str] = []
    places: list[int] = []
    ends: list[int] = []
    position = 0
    while position < len(piece):
        match = _WRITTEN.match(piece, position)
        end = match.end() if match else position + 1
        sign = _sign(match) if match else piece[position]
        if _DROPPED.match(sign) is None:
            characters.append(sign)
            places.append(start + position)
            ends.append(start + end)
        position = end
    return View("".join(characters), places, ends)


def _sign(match: re.Match[str]) -> str:
    if match["sign"]:
        return match["sign"]
    if match["name"]:
        return _NAMES[match["name"]]
    if match["percent"]:
        return chr(int(match["percent"], 16))
    code = int(match["code"]) if match["code"] else int(match["hex"], 16)
    return _TABLE.get(code, chr(code)) if 0x20 <= code < 0xD800 or 0xE000 <= code <= 0xFFFD else " "


def plain_sign(character: str) -> str:
    """Return the plain character that a folded one stands for; any other as it is."""
    return _TABLE.get(ord(character), character)


def is_folded_sign(character: str) -> bool:
    """Return whether a character stands for an ASCII letter or digit."""
    if character == "" or character in _SMALL or character in CIRCLED:
        return False
    return _TABLE.get(ord(character), " ").isalnum()
