"""Characters by class, as a table that compiled code reads: blank, letter, Hangul, digit, a sign of code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BLANK = 1
LETTER = 2
HANGUL = 4
DIGIT = 8
CODE_SIGN = 16
"""Bits of a class. Hangul letters, jamo among them, have the bit of letters, too."""
LAST = 0x33480
"""First code point after the last letter, digit or blank (Unicode 16)."""
CODE_SIGNS = "{}[]()<>=;_\\|&$#@`+*/^~%:"
"""Signs that stand close together in programs, commands, addresses and tables."""
_HANGUL = ((0xAC00, 0xD7A3), (0x3131, 0x318E), (0x1100, 0x11FF), (0xA960, 0xA97C), (0xD7B0, 0xD7FB), (0xFFA0, 0xFFDC))


def _classes() -> NDArray[np.uint8]:
    table = np.zeros(0x110000, np.uint8)
    for code in range(LAST):
        character = chr(code)
        if character.isalpha():
            table[code] = LETTER
        elif character.isspace():
            table[code] = BLANK
        elif character.isdigit():
            table[code] = DIGIT
    for first, last in _HANGUL:
        table[first : last + 1] |= HANGUL | LETTER
    for sign in CODE_SIGNS:
        table[ord(sign)] |= CODE_SIGN
    return table


CLASSES = _classes()
"""Code point → bits, uint8 [0x110000]."""
