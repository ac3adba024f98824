"""The filter `symbols`: lists, cut-off lines and signs, after Gopher's rules on quality (Rae et al. 2021, table A1)."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from common.settings import Settings
from data.filters.base import BLANK, CLASSES, DIGIT, LETTER, Batch, Measure

BULLETS = np.array(sorted(map(ord, "-*•‣⁃∙·ㆍ◦▪▫■□●○◆◇▶▷►◀◁★☆※→☞✓✔")), np.uint32)
"""Signs that begin the line of a list."""
ELLIPSIS, STOP = ord("…"), ord(".")
FEW_LINES = 5
"""A document of fewer lines is no list, and its end is no habit."""
MAX_SYMBOLS = 0.4
"""Largest share of characters, blanks not counted, that are neither letters nor digits. Chosen, like all bounds of
this file, on Korean text of some seventy sources."""
MAX_BULLET_LINES = 0.9
"""Largest share of lines that begin with the sign of a list (-, •, ※ …): Gopher's."""
MAX_ELLIPSIS_LINES = 0.7
"""Largest share of lines that end in an ellipsis (…, ...): teasers that lead to other pages. Some
comments end like this, too, but not most; so Gopher's 0.3 is too low."""


class SymbolsSettings(Settings):
    """Drop documents that consist mostly of symbols (more than 40% of the characters), of lists or of lines that break
    off (more than 90% or 70% of five lines and more)."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (
            Measure("share", None, MAX_SYMBOLS),
            Measure("bullet_lines", None, MAX_BULLET_LINES),
            Measure("ellipsis_lines", None, MAX_ELLIPSIS_LINES),
        )

    def scores(self, batch: Batch) -> NDArray[np.float64]:
        signs = _symbols(batch.codes, batch.borders, CLASSES)
        return np.concatenate((signs[:, None], _lines(batch.codes, *batch.lines, BULLETS)), axis=1)


@njit(cache=True, nogil=True)
def _symbols(codes: NDArray[np.uint32], borders: NDArray[np.int64], classes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the share of characters, blanks not counted, that are neither letters nor digits [D]."""
    shares = np.zeros(len(borders) - 1)
    for document in range(len(borders) - 1):
        solid, signs = 0, 0
        for place in range(borders[document], borders[document + 1]):
            kind = classes[codes[place]]
            solid += not kind & BLANK
            signs += not kind & (BLANK | LETTER | DIGIT)
        if solid:
            shares[document] = signs / solid
    return shares


@njit(cache=True, nogil=True)
def _lines(
    codes: NDArray[np.uint32],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    borders: NDArray[np.int64],
    bullets: NDArray[np.uint32],
) -> NDArray[np.float64]:
    """Return the shares of lines that begin as in a list, and of lines that end in an ellipsis [D, 2]."""
    shares = np.zeros((len(borders) - 1, 2))
    for document in range(len(borders) - 1):
        count = borders[document + 1] - borders[document]
        if count < FEW_LINES:
            continue
        listed, open_ended = 0, 0
        for line in range(borders[document], borders[document + 1]):
            start, stop = starts[line], stops[line]
            bullet = np.searchsorted(bullets, codes[start])
            listed += bullet < len(bullets) and bullets[bullet] == codes[start]
            dots = stop - start >= 3 and codes[stop - 1] == STOP and codes[stop - 2] == STOP and codes[stop - 3] == STOP
            open_ended += codes[stop - 1] == ELLIPSIS or dots
        shares[document, 0] = listed / count
        shares[document, 1] = open_ended / count
    return shares
