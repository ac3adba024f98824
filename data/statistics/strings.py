"""Characters and words of strings, counted on their UTF-8 bytes by compiled code (numba, cached on disk)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray


def count_strings(values: pa.StringArray) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return characters, words and bytes of each string, each int64 [len(values)]; words are as `str.split()` cuts."""
    if len(values) == 0 or values.buffers()[2] is None:
        empty = np.zeros(len(values), np.int64)
        return empty, empty, empty
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    borders = offsets.astype(np.int64)
    characters, words = _count(np.frombuffer(values.buffers()[2], np.uint8), borders)
    return characters, words, np.diff(borders)


def count_words(text: bytes) -> int:
    """Return how many words a UTF-8 text holds (lone surrogates allowed), as `str.split()` cuts."""
    if not text:
        return 0
    _, words = _count(np.frombuffer(text, np.uint8), np.array([0, len(text)], np.int64))
    return int(words[0])


@njit(cache=True, nogil=True)
def _count(data: NDArray[np.uint8], borders: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    characters = np.zeros(len(borders) - 1, np.int64)
    words = np.zeros(len(borders) - 1, np.int64)
    for n in range(len(borders) - 1):
        place, end, inside = borders[n], borders[n + 1], False
        while place < end:
            lead = data[place]
            if lead < 0x80:
                blank = lead == 32 or 9 <= lead <= 13 or 28 <= lead <= 31
                place += 1
            elif lead < 0xE0:
                blank = lead == 0xC2 and (data[place + 1] == 0x85 or data[place + 1] == 0xA0)
                place += 2
            elif lead < 0xF0:
                blank = lead <= 0xE3 and _is_wide_blank(lead, data[place + 1], data[place + 2])
                place += 3
            else:
                blank = False
                place += 4
            characters[n] += 1
            if blank:
                inside = False
            elif not inside:
                inside = True
                words[n] += 1
    return characters, words


@njit(cache=True, nogil=True, inline="always")
def _is_wide_blank(lead: int, second: int, third: int) -> bool:
    """Return whether three bytes are one of Unicode's blanks: U+1680, 2000-200A, 2028, 2029, 202F, 205F, 3000."""
    if lead == 0xE2:
        if second == 0x80:
            return third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF
        return second == 0x81 and third == 0x9F
    if lead == 0xE3:
        return second == 0x80 and third == 0x80
    return lead == 0xE1 and second == 0x9A and third == 0x80
