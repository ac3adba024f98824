"""The filter `language`: how much of a text is Hangul, and how many of its lines look like code."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray
from pydantic import Field

from common.settings import Settings
from data.filters.base import BLANK, CLASSES, CODE_SIGN, HANGUL, LETTER, Batch, Measure

SIGNS_OF_CODE = 0.1
"""Share of signs of code from which a line with hardly any Hangul looks like code."""
HANGUL_OF_CODE = 0.2
"""Most Hangul among the letters of such a line: names and comments in it."""
LINE_ENDS = np.array(sorted(map(ord, ";{}")), np.uint32)
"""Signs that end lines of code, and hardly any of prose."""

MAX_CODE_LINES = 0.7
"""Largest share of lines that look like code: hardly any Hangul, and brackets, operators or a semicolon at the end.
Texts that explain code have more prose than this leaves."""


class LanguageSettings(Settings):
    """Drop documents that are not Korean, or of which more than 70% of the lines are code."""

    min_hangul: float = Field(0.3, ge=0, le=1)
    """Minimum share of Hangul among the letters. In a document without letters it counts as 0."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        return Measure("hangul", self.min_hangul), Measure("code_lines", None, MAX_CODE_LINES)

    def scores(self, batch: Batch) -> NDArray[np.float64]:
        return _language(batch.codes, *batch.lines, CLASSES, LINE_ENDS)


@njit(cache=True, nogil=True)
def _language(codes, starts, stops, borders, classes, line_ends):  # type: ignore[no-untyped-def]
    """Return the share of Hangul among letters, and of lines that look like code [D, 2]."""
    shares = np.zeros((len(borders) - 1, 2))
    for document in range(len(borders) - 1):
        all_letters = 0
        all_hangul = 0
        code = 0
        for line in range(borders[document], borders[document + 1]):
            letters = 0
            hangul = 0
            signs = 0
            solid = 0
            for place in range(starts[line], stops[line]):
                kind = classes[codes[place]]
                letters += (kind & LETTER) != 0
                hangul += (kind & HANGUL) != 0
                signs += (kind & CODE_SIGN) != 0
                solid += (kind & BLANK) == 0
            all_letters += letters
            all_hangul += hangul
            if hangul <= HANGUL_OF_CODE * letters:
                end = codes[stops[line] - 1]
                code += signs >= SIGNS_OF_CODE * solid or (
                    end == line_ends[0] or end == line_ends[1] or end == line_ends[2]
                )
        lines = borders[document + 1] - borders[document]
        if all_letters:
            shares[document, 0] = all_hangul / all_letters
        if lines:
            shares[document, 1] = code / lines
    return shares
