"""The words of a page in English and Korean: its sentences, names for people, durations.

A sentence is its own key. Its Korean stands in words.ko.yaml, names of settings and types in names.yaml.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from common.progress import duration

Language = Literal["en", "ko"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
MARK = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹†‡§¶]+ ")
"""Of a footnote."""
AFTER = r"(?=$|,|[⁰¹²³⁴⁵⁶⁷⁸⁹]| \()"
"""What follows on a remark at the end of a metric's name."""
ONE = re.compile(r"(?<![\d.,])(1 (?:[a-z]+ )?)([a-z-]+s)\b")
PLURALS = {
    **{f"{noun}s": noun for noun in (
        "document", "sentence", "source", "token", "step", "parameter", "layer", "head", "seed", "task", "run", "point",
        "fine-tuning", "line", "file", "piece",
    )},
    "entries": "entry", "batches": "batch", "processes": "process",
}  # fmt: skip
"""Nouns that sentences count, in English: after a 1 they are singular."""
LISTS = re.compile(r"; "), re.compile(r", (?![^(]*\))")
"""What stands between the parts of a list; commas outside brackets alone."""
LISTED = ("note", "rest", "source", "reason", "tasks", "looks", "found", "counts", "values")
"""Values of sentences that may be lists; others hold no part's end."""
UNITS = {"h": "시간", "m": "분", "s": "초"}


@lru_cache
def _table(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return loaded


@lru_cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Return (what an English sentence with values looks like, its Korean)."""
    korean = _table("words.ko.yaml")
    filled = [english for english in korean if "{" in english]
    filled.sort(key=lambda english: -len(re.sub(r"\{\w+\}", "", english)))  # what says most first
    shapes = [re.sub(r"\\\{(\w+)\\\}", _group, re.escape(english)) for english in filled]
    return [(re.compile(shape, re.DOTALL), korean[english]) for shape, english in zip(shapes, filled, strict=True)]


def _singular(found: re.Match[str]) -> str:
    return found[1] + PLURALS.get(found[2], found[2])


def _group(field: re.Match[str]) -> str:
    one = "." if field[1] in LISTED else r"[^()]" if field[1] == "why" else r"(?![;,] )."
    return f"(?P<{field[1]}>(?:{one})+?)"


class Words:
    """The words of one language.

    Args:
        language: "en" or "ko".
    """

    def __init__(self, language: Language) -> None:
        self.language = language

    def __call__(self, text: str, **values: object) -> str:
        """Return a sentence of the page with its values, in the language; one without a translation stays English."""
        told = str(_table("words.ko.yaml").get(text, text) if self.language == "ko" else text)
        if not values:
            return told
        filled = told.format(**values)
        return filled if self.language == "ko" else ONE.sub(_singular, filled)

    def said(self, text: str) -> str:
        """Return a finished English sentence of another module in the language; an unknown one stays English.

        Args:
            text: with its values; they are found by the sentences of the table that have any.
        """
        if self.language == "en" or not text:
            return text
        if text in _table("words.ko.yaml"):
            return self(text)
        if mark := MARK.match(text):
            return mark[0] + self.said(text[mark.end() :])
        for shape, korean in _patterns():
            if found := shape.fullmatch(text):
                return korean.format(**{name: self.said(value) for name, value in found.groupdict().items()})
        for gap in LISTS:
            if len(parts := gap.split(text)) > 1:
                return gap.pattern[:2].join(map(self.said, parts))
        return text

    def name(self, key: str) -> str:
        """Return what people call a setting, a type or a figure; an unknown key is shown as it is, without "_"."""
        pair = _table("names.yaml").get(key)
        return str(pair[LANGUAGES.index(self.language)]) if pair else key.replace("_", " ")

    def metric(self, text: str) -> str:
        """Return the name of a metric, such as "KLUE-NLI accuracy, last evaluation", in the language."""
        if self.language == "ko":
            for english, korean in _table("metrics.yaml").items():
                before, after = (r"(?<![\w-])", "(?![A-Za-z])") if english[0].isalnum() else ("", AFTER)
                text = re.sub(f"{before}{re.escape(english)}{after}", korean, text)
        return text

    def duration(self, seconds: float) -> str:
        """Return a duration for people: 3m 05s, 3분 5초."""
        text = duration(seconds)
        if self.language == "en":
            return text
        return re.sub(r"0?(\d+)([hms])", lambda found: found[1] + UNITS[found[2]], text)


ENGLISH = Words("en")
