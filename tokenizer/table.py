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
_INLINE = 12
"""Longest unit, in bytes, that its slot holds whole: four Hangul syllables."""
_LONG = 15
_TOGETHER = 1 << 15
"""Bytes of documents whose units are cut and then looked up together."""
_END_FIRST, _END_SECOND = np.uint64(0), np.uint64(14 << 32)
"""Key of a document's end: no unit has this length mark."""
_FNV_OFFSET = np.uint64(14695981039346656037)
_FNV_PRIME = np.uint64(1099511628211)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_KEY_MASK = np.uint64((1 << 36) - 1)
_HALF = np.uint64(32)
_KEY_BITS = np.uint64(36)
_ONE = np.uint64(1)


class UnitTable:
    """Units seen so far, rows in the order of first sight; without `cut_plain` every eojeol is one unit."""

    def __init__(self, cut_plain: bool = True) -> None:
        self._cut_plain = cut_plain
        self._slots = np.zeros(1 << 19, np.uint64)
        self._texts = np.zeros(1 << 20, np.uint8)
        self._text_ends = np.zeros(1 << 15, np.int64)
        self._rows = END_ROW + 1  # it has no text
        home = _home(_END_FIRST, _END_SECOND, np.uint64(len(self._slots) // 2 - 1))
        self._slots[2 * int(home) + 1] = _END_SECOND | np.uint64(END_ROW)

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
        # large arrays are asked for here, not in compiled code: numpy has them in huge pages
        if 4 * self._rows > len(self._slots):  # half full
            self._slots = _rehash(self._slots, np.zeros(2 * len(self._slots), np.uint64))
        rows_W = np.empty(len(data_B) + len(documents), np.int32)  # a unit has a byte; what stays unused costs nothing
        sentence_units = np.empty(len(sentences) - 1, np.int64)
        end_units = np.empty(len(documents) - 1, np.int64)
        table = self._slots, self._texts, self._text_ends, self._rows
        count, self._slots, self._texts, self._text_ends, self._rows = _look_up(
            data_B, sentences, documents, self._cut_plain, rows_W, sentence_units, end_units, *table
        )
        return rows_W[:count], sentence_units, end_units

    def units(self, first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the units of the rows from `first` on (at least 1), and which of them are plain words.

        Returns:
            their UTF-8, (B,) uint8; their offsets in it, one more than there are; and (R,) bool.
        """
        ends = self._text_ends[first - 1 : self._rows]
        text_B = self._texts[ends[0] : ends[-1]]
        return text_B, ends - ends[0], _are_plain(text_B, ends - ends[0])


@njit(cache=True, inline="always")
def _is_blank(byte):  # type: ignore[no-untyped-def]
    return byte == 0x20 or byte == 0x0A or byte == 0x09 or byte == 0x0D


@njit(cache=True, inline="always")
def _is_mark(byte):  # type: ignore[no-untyped-def]
    return byte < 0x30 or 0x39 < byte < 0x41 or 0x5A < byte < 0x61 or 0x7A < byte < 0x80


@njit(cache=True, inline="always")
def _plain_width(data, at, end):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def _are_plain(text_B, ends):  # type: ignore[no-untyped-def]
    """Return which units are one plain word: Hangul syllables, letters and digits, or one punctuation mark."""
    plain = np.zeros(len(ends) - 1, np.bool_)
    for unit in range(len(ends) - 1):
        at, end = ends[unit], ends[unit + 1]
        alone = end - at == 1
        width = 1
        while at < end and width > 0:
            width = _plain_width(text_B, at, end)
            if width == 1 and _is_mark(text_B[at]) and not alone:
                width = 0
            at += width
        plain[unit] = width > 0
    return plain


@njit(cache=True, nogil=True)
def _grow(array, size):  # type: ignore[no-untyped-def]
    grown = np.zeros((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown


@njit(cache=True, inline="always")
def _key(data, start, end):  # type: ignore[no-untyped-def]
    """Return a unit's key of two words: its bytes and length if short (exact), else its hash and `_LONG`.

    The second word uses 36 bits: four bytes, or half of the length, and four bits of length.
    """
    length = end - start
    first = second = np.uint64(0)
    if length > _INLINE:
        first = _FNV_OFFSET
        for at in range(start, end):
            first = (first ^ np.uint64(data[at])) * _FNV_PRIME
        return first, np.uint64(length & 0xFFFFFFFF) | (np.uint64(_LONG) << _HALF)
    for place in range(min(length, 8)):
        first |= np.uint64(data[start + place]) << np.uint64(8 * place)
    for place in range(8, length):
        second |= np.uint64(data[start + place]) << np.uint64(8 * (place - 8))
    return first, second | (np.uint64(length) << _HALF)


@njit(cache=True, inline="always")
def _home(first, second, mask):  # type: ignore[no-untyped-def]
    value = (first ^ (second * _FNV_PRIME)) * _MIX
    value = (value ^ (value >> _HALF)) * _MIX
    return (value >> np.uint64(20)) & mask


@njit(cache=True, inline="always")
def _same_bytes(data, start, end, texts, begin):  # type: ignore[no-untyped-def]
    for place in range(end - start):  # noqa: SIM110 - compiled
        if texts[begin + place] != data[start + place]:
            return False
    return True


@njit(cache=True, nogil=True)
def _rehash(slots, larger):  # type: ignore[no-untyped-def]
    """Move the slots, which are pairs of words, into `larger` (zeros, a power of two long), and return it."""
    mask = np.uint64(len(larger) // 2 - 1)
    for old in range(0, len(slots), 2):
        if slots[old + 1] == 0:
            continue
        slot = _home(slots[old], slots[old + 1] & _KEY_MASK, mask)
        while larger[2 * slot + _ONE] != 0:
            slot = (slot + _ONE) & mask
        larger[2 * slot] = slots[old]
        larger[2 * slot + _ONE] = slots[old + 1]
    return larger


@njit(cache=True, nogil=True)
def _look_up(  # type: ignore[no-untyped-def]
    data, sentences, documents, cut_plain, rows_W, sentence_units, end_units, slots, texts, text_ends, rows
):
    """Write the rows of the text's units and where things start in them; return W and the table with new units in it.

    Units are cut and looked up some documents at a time, so that what stands between the two stays near the processor.
    """
    starts = sentences[documents]  # in bytes
    keys_U2 = np.empty((0, 2), np.uint64)
    places_U2 = np.empty((0, 2), np.int64)
    count = first = 0
    while first < len(documents) - 1:
        last = first + 1
        while last < len(documents) - 1 and starts[last + 1] - starts[first] <= _TOGETHER:
            last += 1
        most = starts[last] - starts[first] + last - first
        if most > len(keys_U2):
            keys_U2 = np.empty((most, 2), np.uint64)
            places_U2 = np.empty((most, 2), np.int64)
        unit_count = _scan(
            data, sentences, documents, first, last, cut_plain, keys_U2, places_U2, count, sentence_units, end_units
        )
        slots, texts, text_ends, rows = _find(
            data, keys_U2[:unit_count], places_U2[:unit_count], rows_W[count:], slots, texts, text_ends, rows
        )
        count += unit_count
        first = last
    return count, slots, texts, text_ends, rows


@njit(cache=True, nogil=True)
def _scan(data, sentences, documents, first, last, cut_plain, keys_U2, places_U2, before, sentence_units, end_units):  # type: ignore[no-untyped-def]
    """Cut documents into units behind the `before` so far and return how many; write keys, byte offsets and starts."""
    count = 0
    for document in range(first, last):
        for sentence in range(documents[document], documents[document + 1]):
            sentence_units[sentence] = before + count
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
                    keys_U2[count, 0], keys_U2[count, 1] = _key(data, at, unit_end)
                    places_U2[count, 0], places_U2[count, 1] = at, unit_end
                    count += 1
                    at = unit_end
        end_units[document] = before + count
        keys_U2[count, 0], keys_U2[count, 1] = _END_FIRST, _END_SECOND
        places_U2[count, 0], places_U2[count, 1] = 0, 0
        count += 1
    return count


@njit(cache=True, nogil=True)
def _find(data, keys_U2, places_U2, rows_U, slots, texts, text_ends, rows):  # type: ignore[no-untyped-def]
    """Write the rows of a block of units into `rows_U`; return the table with the new units in it.

    Slots lie all over memory. The block first reads the slots it will want, without a branch, so that the processor
    fetches many at once; the look-ups after that find them near.
    """
    mask = np.uint64(len(slots) // 2 - 1)
    homes = np.empty(len(keys_U2), np.uint64)
    touched = np.uint64(0)
    for unit in range(len(keys_U2)):
        home = _home(keys_U2[unit, 0], keys_U2[unit, 1], mask)
        homes[unit] = home
        touched |= slots[2 * home + _ONE]
    if len(keys_U2):
        rows_U[0] = np.int32(touched & _ONE)  # used, so that the reads are not optimised away
    for unit in range(len(keys_U2)):
        first, second = keys_U2[unit, 0], keys_U2[unit, 1]
        start, end = places_U2[unit, 0], places_U2[unit, 1]
        slot, row = homes[unit], np.int64(-1)
        while slots[2 * slot + _ONE] != 0:
            packed = slots[2 * slot + _ONE]
            if packed & _KEY_MASK == second and slots[2 * slot] == first:
                candidate = np.int64(packed >> _KEY_BITS)
                begin = text_ends[candidate - 1] if end - start > _INLINE else np.int64(0)
                if end - start <= _INLINE or (
                    text_ends[candidate] - begin == end - start and _same_bytes(data, start, end, texts, begin)
                ):
                    row = candidate
                    break
            slot = (slot + _ONE) & mask
        if row < 0:
            row = np.int64(rows)
            begin = text_ends[row - 1]
            if begin + end - start > len(texts):
                texts = _grow(texts, begin + end - start)
            texts[begin : begin + end - start] = data[start:end]
            if row + 1 >= len(text_ends):
                text_ends = _grow(text_ends, 0)
            text_ends[row] = begin + end - start
            slots[2 * slot] = first
            slots[2 * slot + _ONE] = second | (np.uint64(row) << _KEY_BITS)
            rows += 1
            if 8 * rows > 3 * len(slots):  # three quarters full
                slots = _rehash(slots, np.zeros(2 * len(slots), np.uint64))
                mask = np.uint64(len(slots) // 2 - 1)
                for later in range(unit + 1, len(keys_U2)):
                    homes[later] = _home(keys_U2[later, 0], keys_U2[later, 1], mask)
        rows_U[unit] = row
    return slots, texts, text_ends, rows


@njit(cache=True, nogil=True)
def gather(rows_W: np.ndarray, spans_R2: np.ndarray, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the units' ids one after the other, (T,), and the (W + 1,) offsets of the units in them."""
    ends = np.empty(len(rows_W) + 1, np.int64)
    ends[0] = 0
    for unit in range(len(rows_W)):
        row = rows_W[unit]
        ends[unit + 1] = ends[unit] + spans_R2[row, 1] - spans_R2[row, 0]
    tokens = np.empty(ends[-1], flat.dtype)
    place = 0
    for unit in range(len(rows_W)):
        row = rows_W[unit]
        for source in range(spans_R2[row, 0], spans_R2[row, 1]):
            tokens[place] = flat[source]
            place += 1
    return tokens, ends
