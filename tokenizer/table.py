"""A table of the text's units (eojeol, or the words of a plain eojeol) → rows, filled and read in compiled code.

UTF-8 bytes go in as they lie in an Arrow buffer; no string object is made of a unit that has been seen before.

A unit is what stands between blanks. A *plain* eojeol, of Hangul syllables and printable ASCII only, is cut further,
into runs of letters and digits and single punctuation marks, as BERT's pre-tokenizer cuts it; nothing in it can
combine with its neighbours. An eojeol with any other character is one unit, and left to the real tokenizer whole.

Array names carry their length: B bytes, S sentences, D documents, W units of a batch, R rows of the table.
"""

from __future__ import annotations

import numpy as np
from numba import njit

END_ROW = 0
"""Row of a document's end, which no unit has."""
_FNV_OFFSET = np.uint64(14695981039346656037)
_FNV_PRIME = np.uint64(1099511628211)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class UnitTable:
    """Units seen so far; rows are numbered in the order of their first sight.

    Args:
        cut_plain: cut plain eojeol into words; without it every eojeol is one unit.
    """

    def __init__(self, cut_plain: bool = True) -> None:
        self._cut_plain = cut_plain
        self._slots = np.zeros(1 << 16, np.uint64)
        self._keys = np.zeros(1 << 20, np.uint8)
        self._key_ends = np.zeros(1 << 15, np.int64)
        self._rows = 1  # row 0, the document's end, has no key

    def __len__(self) -> int:
        return self._rows

    def look_up(
        self, data_B: np.ndarray, sentences: np.ndarray, documents: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows of all units, (W,) int32, with `END_ROW` after each document, and where things start in W.

        Args:
            data_B: UTF-8 text.
            sentences: (S + 1,) int64 offsets in bytes; no character stands across one.
            documents: (D + 1,) int64 offsets in sentences.

        Returns:
            rows_W; the unit index at which each sentence starts, (S,); that of each document's end, (D,).
        """
        out = _scan(data_B, sentences, documents, self._slots, self._keys, self._key_ends, self._rows, self._cut_plain)
        rows_W, sentence_units, end_units, self._slots, self._keys, self._key_ends, self._rows = out
        return rows_W, sentence_units, end_units

    def units(self, first: int) -> list[str]:
        """Return the units of the rows from `first` on (at least 1), in order."""
        ends = self._key_ends[first - 1 : self._rows].tolist()
        base = ends[0]
        text = self._keys[base : ends[-1]].tobytes()
        return [text[a - base : b - base].decode("utf-8") for a, b in zip(ends[:-1], ends[1:], strict=True)]


@njit(cache=True)
def _is_blank(byte: int) -> bool:
    return byte == 0x20 or byte == 0x0A or byte == 0x09 or byte == 0x0D


@njit(cache=True)
def _is_mark(byte: int) -> bool:
    """Return whether a printable ASCII byte is punctuation."""
    return byte < 0x30 or 0x39 < byte < 0x41 or 0x5A < byte < 0x61 or 0x7A < byte < 0x80


@njit(cache=True)
def _plain_width(data: np.ndarray, at: int, end: int) -> int:
    """Return the bytes of the plain character at `at`: 1 for printable ASCII, 3 for a Hangul syllable, else 0."""
    first = data[at]
    if 0x20 < first < 0x7F:
        return 1
    if first < 0xEA or first > 0xED or at + 3 > end:
        return 0
    second, third = data[at + 1], data[at + 2]
    if first == 0xEA and second < 0xB0:  # below U+AC00
        return 0
    if first == 0xED and (second > 0x9E or (second == 0x9E and third > 0xA3)):  # above U+D7A3
        return 0
    return 3


@njit(cache=True)
def _hash(data: np.ndarray, start: int, end: int) -> int:
    value = _FNV_OFFSET
    for at in range(start, end):
        value = (value ^ np.uint64(data[at])) * _FNV_PRIME
    return value ^ (value >> _HALF)


@njit(cache=True)
def _grow(array: np.ndarray, size: int) -> np.ndarray:
    grown = np.zeros(max(size, 2 * len(array)), array.dtype)
    grown[: len(array)] = array
    return grown


@njit(cache=True)
def _rehash(keys: np.ndarray, key_ends: np.ndarray, rows: int, size: int) -> np.ndarray:
    slots = np.zeros(size, np.uint64)
    mask = np.uint64(size - 1)
    for row in range(1, rows):
        value = _hash(keys, key_ends[row - 1], key_ends[row])
        slot = value & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = (value & ~_LOW) | np.uint64(row)
    return slots


@njit(cache=True)
def _find(
    data: np.ndarray, start: int, end: int, slots: np.ndarray, keys: np.ndarray, key_ends: np.ndarray
) -> tuple[int, int, int]:
    """Return (row or -1, free slot, hash) of the unit data[start:end]; a slot holds half a hash and a row."""
    value = _hash(data, start, end)
    mask = np.uint64(len(slots) - 1)
    slot = value & mask
    while slots[slot] != 0:
        held = slots[slot]
        if (held & ~_LOW) == (value & ~_LOW):
            row = np.int64(held & _LOW)
            begin = key_ends[row - 1]
            if key_ends[row] - begin == end - start:
                same = True
                for place in range(end - start):
                    if keys[begin + place] != data[start + place]:
                        same = False
                        break
                if same:
                    return row, slot, value
        slot = (slot + np.uint64(1)) & mask
    return -1, slot, value


@njit(cache=True)
def _scan(data, sentences, documents, slots, keys, key_ends, rows, cut_plain):  # type: ignore[no-untyped-def]
    units = np.empty(1024, np.int32)
    count = 0
    sentence_units = np.empty(len(sentences) - 1, np.int64)
    end_units = np.empty(len(documents) - 1, np.int64)
    for document in range(len(documents) - 1):
        for sentence in range(documents[document], documents[document + 1]):
            sentence_units[sentence] = count
            at, stop = sentences[sentence], sentences[sentence + 1]
            while at < stop:
                if _is_blank(data[at]):
                    at += 1
                    continue
                plain, end = cut_plain, at
                while end < stop and not _is_blank(data[end]):
                    width = _plain_width(data, end, stop) if plain else 1
                    plain = plain and width > 0
                    end += max(width, 1)
                while at < end:
                    unit_end = end
                    if plain:
                        unit_end = at + 1
                        if not _is_mark(data[at]):
                            while unit_end < end and not _is_mark(data[unit_end]):
                                unit_end += 1
                    row, slot, value = _find(data, at, unit_end, slots, keys, key_ends)
                    if row < 0:
                        row = rows
                        begin, length = key_ends[row - 1], unit_end - at
                        if begin + length > len(keys):
                            keys = _grow(keys, begin + length)
                        keys[begin : begin + length] = data[at:unit_end]
                        if row + 1 > len(key_ends) - 1:
                            key_ends = _grow(key_ends, 0)
                        key_ends[row] = begin + length
                        slots[slot] = (value & ~_LOW) | np.uint64(row)
                        rows += 1
                        if 2 * rows > len(slots):
                            slots = _rehash(keys, key_ends, rows, 4 * len(slots))
                    if count + 2 > len(units):
                        units = _grow(units, 0)
                    units[count] = row
                    count += 1
                    at = unit_end
        if count + 1 > len(units):
            units = _grow(units, 0)
        end_units[document] = count
        units[count] = END_ROW
        count += 1
    return units[:count], sentence_units, end_units, slots, keys, key_ends, rows


@njit(cache=True)
def gather(rows_W: np.ndarray, starts: np.ndarray, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the units' ids one after the other, (T,), and the (W + 1,) offsets of the units in them.

    Args:
        rows_W: table rows.
        starts: (R + 1,) offsets of the rows' ids in `flat`.
    """
    ends = np.empty(len(rows_W) + 1, np.int64)
    ends[0] = 0
    for unit in range(len(rows_W)):
        row = rows_W[unit]
        ends[unit + 1] = ends[unit] + starts[row + 1] - starts[row]
    tokens = np.empty(ends[-1], flat.dtype)
    place = 0
    for unit in range(len(rows_W)):
        row = rows_W[unit]
        for source in range(starts[row], starts[row + 1]):
            tokens[place] = flat[source]
            place += 1
    return tokens, ends
