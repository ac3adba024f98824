"""The equality of texts: one table over code points, used by the kernels and by the oracle.

A text is brought to NFC; then each character is either a letter (letters, digits, marks; case and width folded), a
blank, or left out (punctuation, symbols, format characters such as U+200B). The letters between two blanks are a word
(eojeol). A letter fits 16 bits: Han beyond the Basic Multilingual Plane shares the 6,400 stand-ins of the private use
area, and the other scripts there are left out.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

from data.nfc import nfc

LEFT_OUT, BLANK = 0, 1
"""Table values below the first letter."""
TABLE_SIZE = 0x10000
FIRST_HAN_BEYOND, LAST_HAN_BEYOND = 0x20000, 0x3FFFF
STAND_IN, STAND_INS = 0xE000, 6400


def fold_character(code: int) -> int:
    """Return the letter (below 65,536) that stands for a code point, or BLANK, or LEFT_OUT."""
    if code >= TABLE_SIZE:
        return STAND_IN + code % STAND_INS if FIRST_HAN_BEYOND <= code <= LAST_HAN_BEYOND else LEFT_OUT
    character = chr(code)
    if character.isspace():
        return BLANK
    if unicodedata.category(character)[0] not in "LNM" or 0xFE00 <= code <= 0xFE0F:
        return LEFT_OUT
    if code >= 0xFF00:  # full-width letters, half-width jamo and kana
        character = unicodedata.normalize("NFKC", character)
    folded = character.casefold()
    return ord(folded) if len(folded) == 1 and ord(folded) < TABLE_SIZE else code


class _Folded(dict[int, str]):
    def __missing__(self, code: int) -> str:
        folded = fold_character(code)
        return self.setdefault(code, "" if folded == LEFT_OUT else " " if folded == BLANK else chr(folded))


_FOLDED = _Folded()


@cache
def fold_table() -> NDArray[np.uint16]:
    """Return `fold_character` of every code point below TABLE_SIZE, as one array."""
    return np.fromiter((fold_character(code) for code in range(TABLE_SIZE)), np.uint16, TABLE_SIZE)


def folded_words(text: str) -> list[str]:
    """Return the words of a text, folded: "K팝스타3’ 유희열이" → ["k팝스타3", "유희열이"]."""
    return nfc(text).translate(_FOLDED).split()


def exact_key(text: str) -> str:
    """Return the text without blanks, punctuation and case: equal keys are an exact match; "" never matches."""
    return "".join(folded_words(text))


def text_key(text: str) -> str:
    """Return a key that is equal for equal texts: `exact_key`, or the text itself where it holds nothing but marks.

    All of Hunmin compares texts by it: benchmarks with corpora, training rows with test rows, texts of a batch.
    """
    return exact_key(text) or "".join(nfc(text).split())
