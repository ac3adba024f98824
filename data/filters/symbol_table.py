"""Characters as a language model sees them: small letters, 0 for every digit, one blank for a run of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from data.filters.characters import BLANK, CLASSES, DIGIT

BEGIN, UNKNOWN = 0, 1
"""Symbols: what stands before a document; every character that is not in the vocabulary."""
FIRST = 2
"""The first symbol of a character."""
BITS = 12
"""Bits of a symbol: five of them fit a 64-bit key."""
MOST_CHARACTERS = (1 << BITS) - FIRST
"""Most characters of a vocabulary; Korean text of all kinds keeps 99.9% of its characters with half of them."""
SPACE, ZERO = 0x20, 0x30


def folded(codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return code points without case, with 0 for digits and a space for blanks [C]."""
    kinds = CLASSES[codes]
    out = codes.copy()
    out[(kinds & BLANK) > 0] = SPACE
    out[(kinds & DIGIT) > 0] = ZERO
    capital = (codes >= 0x41) & (codes <= 0x5A)
    out[capital] += 0x20
    return out


def symbol_table(vocabulary: NDArray[np.uint32]) -> NDArray[np.uint16]:
    """Return code point → symbol, uint16 [0x110000], for a vocabulary of folded code points, in their order."""
    table = np.full(0x110000, UNKNOWN, np.uint16)
    table[vocabulary] = np.arange(FIRST, FIRST + len(vocabulary), dtype=np.uint16)
    every = np.arange(0x110000, dtype=np.uint32)
    result: NDArray[np.uint16] = table[folded(every)]
    return result
