"""Texts whose personal data is marked while they are written: spans known by construction.

A marked value is a plain string with characters of the private use area around it, so that templates, joins and
replacements keep the marks; `Page.finish` takes them out again and returns the spans.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

OPEN = "\ue000"
CORE = "\ue001"
END = "\ue002"
CLOSE = "\ue003"
FIRST = 0xE100
"""Code point of the first mark's number."""
JOSA = {
    "은": ("은", "는"),
    "이": ("이", "가"),
    "을": ("을", "를"),
    "과": ("과", "와"),
    "로": ("으로", "로"),
    "이라": ("이라", "라"),
    "이랑": ("이랑", "랑"),
    "이에요": ("이에요", "예요"),
    "이나": ("이나", "나"),
}
CLOSED = set("0136780136780lmnrLMNR")
"""Digits and letters whose Korean name ends in a consonant."""
NUMERALS = set("공영일이삼사오육칠팔구륙ㅇ")
BY_LETTER = {"EMAIL", "URL", "MENTION", "MAC", "IP", "PASSPORT", "VEHICLE_PLATE"}
"""Types of which letters identify, too."""


class Kind(NamedTuple):
    """What a value is and how it is written."""

    type: str
    form: str


class Value(str):
    """A string, marked or not, that takes the right josa in a format: `{v:은}`."""

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        last = next((c for c in reversed(self) if c.isalnum()), "가")
        if "가" <= last <= "힣":
            final = (ord(last) - ord("가")) % 28
            closed, by_l = final > 0, final == 8
        else:
            last = chr(ord(last) - 0xFEE0) if "！" <= last <= "～" else last
            closed, by_l = last in CLOSED, last in "178lLrR"
        if spec == "로" and by_l:
            closed = False
        return self + JOSA[spec][0 if closed else 1]


class Page:
    """One text in the making: its random numbers, the kinds of its marks, and what their writer put around them."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        self.kinds: list[Kind] = []
        self.habits: list[str] = []

    def mark(self, kind: Kind, value: str, before: str = "", after: str = "") -> Value:
        """Return a value with its marks; what is `before` and `after` may belong to its span or not."""
        self.kinds.append(kind)
        self.habits.append("plain")
        number = chr(FIRST + len(self.kinds) - 1)
        return Value(f"{OPEN}{number}{before}{CORE}{value}{END}{after}{CLOSE}")

    def put_around(self, text: str, habit: str) -> None:
        """Note for all marked values of a text what stands around them."""
        for char in text:
            if FIRST <= ord(char) < FIRST + len(self.habits):
                self.habits[ord(char) - FIRST] = habit

    def finish(self, text: str) -> tuple[str, list[dict[str, Any]]]:
        """Return the text without marks, and its spans with type, form, habit, and `within`, the widest right span."""
        plain: list[str] = []
        spans: list[dict[str, Any]] = []
        span: dict[str, Any] = {}
        for char in text:
            if char == OPEN:
                span = {"start": 0, "end": 0, "within": [len(plain), 0]}
            elif char == CORE:
                span["start"] = len(plain)
            elif char == END:
                span["end"] = len(plain)
            elif char == CLOSE:
                span["within"][1] = len(plain)
                spans.append(span)
            elif FIRST <= ord(char) < FIRST + len(self.kinds):
                number = ord(char) - FIRST
                span.update(self.kinds[number]._asdict(), habit=self.habits[number])
            else:
                plain.append(char)
        return "".join(plain), spans


def unmarked(text: str) -> str:
    return "".join(char for char in text if not "\ue000" <= char <= "\uf8ff")


def identifying(text: str, span: dict[str, Any]) -> list[int]:
    """Return the places of the characters of a span that must not stay in clear."""
    places = [place for place in range(span["start"], span["end"]) if text[place].isalnum()]
    if span["type"] in BY_LETTER:
        return places
    digits = [place for place in places if text[place].isnumeric()]
    if span["type"] == "ADDRESS":
        return digits or places
    return [place for place in places if text[place].isnumeric() or text[place] in NUMERALS] or places
