"""Morphemes of a word as surface strings, by mecab-ko.

mecab-ko names the parts of a contraction only in a feature (갔 = 가 + 았); its surfaces stay whole, so the surfaces of
a word concatenate to the word. That is checked for every word: one where it does not hold is left whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from tokenizer.pipeline import CONTINUATION

if TYPE_CHECKING:
    from mecab import MeCab


@cache
def _tagger() -> MeCab:
    """Return this process's tagger (it cannot be sent to another process)."""
    from mecab import MeCab

    return MeCab()


def morphemes(word: str) -> list[str]:
    """Return the surfaces of a word's morphemes, segmented out of context; joined, they give back the word.

    Args:
        word: a string without whitespace.

    >>> morphemes("연구자이다")
    ['연구자', '이', '다']
    """
    found = [morpheme.surface for morpheme in _tagger().parse(word)]
    return found if "".join(found) == word else [word]


def morpheme_spans(text: str) -> list[tuple[int, int]]:
    """Return (start, end) character offsets of the morphemes of running text, segmented in context.

    Surfaces are found in the text one after the other: mecab-ko's own offsets slip where the text begins with a blank.
    """
    spans, cursor = [], 0
    for morpheme in _tagger().parse(text):
        start = text.find(morpheme.surface, cursor)
        if start >= 0:
            cursor = start + len(morpheme.surface)
            spans.append((start, cursor))
    return spans


def mark(parts: Iterable[str]) -> list[str]:
    """Return the parts of one word with the continuation prefix on all but the first.

    >>> mark(["분야", "의"])
    ['분야', '##의']
    """
    return [part if index == 0 else CONTINUATION + part for index, part in enumerate(parts)]


def count_pieces(words: list[tuple[str, int]]) -> dict[str, int]:
    """Return how often each marked morpheme occurs, given words and their counts; each word is segmented once."""
    counts: dict[str, int] = {}
    for word, count in words:
        for piece in mark(morphemes(word)) if len(word) > 1 else [word]:
            counts[piece] = counts.get(piece, 0) + count
    return counts
