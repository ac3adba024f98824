"""WordPiece for plain words in compiled code: the longest entry first, as the model of HF tokenizers has it.

Entries stand in two tries over code points, one for the start of a word and one for what continues it. The tries are
one hash table of steps (node, code point) → node, whose keys are exact: nothing is taken for something else.

Array names carry their length: B bytes, R words, T ids, E entries, C code points of entries, S slots, N nodes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit

_START, _CONTINUED = 0, 1
"""Roots of the two tries."""
_NONE = -1
_CODE_BITS = np.uint64(21)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_EMPTY = np.uint64(0)


class WordPieceTrie:
    """A WordPiece model's entries, for words of Hangul syllables and printable ASCII.

    Args:
        prefix: what marks entries that continue a word, "##".
        longest: most characters of a word; a longer one is unknown.
    """

    def __init__(self, vocabulary: Mapping[str, int], prefix: str, unk: int, longest: int) -> None:
        self._unk, self._longest = unk, longest
        # an entry that begins with the prefix continues a word, and may start one too, as it is written
        entries = [(entry, _START, index) for entry, index in vocabulary.items()]
        entries += [(e.removeprefix(prefix), _CONTINUED, i) for e, i in vocabulary.items() if e.startswith(prefix)]
        texts, roots, ids = zip(*entries, strict=True)
        codes_C = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64)
        ends_E = np.cumsum([len(text) for text in texts], dtype=np.int64)
        roots_E = np.array(roots, np.int64)
        ids_E = np.array(ids, np.int64)
        self._keys_S, self._nodes_S, self._ids_N = _build(codes_C, ends_E, roots_E, ids_E)

    def encode(self, text_B: np.ndarray, ends: np.ndarray, wanted_R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of the wanted words one after the other, (T,) int32, and how many each word has, (R,) int64.

        Args:
            text_B: UTF-8 of the words, of one- and three-byte characters.
            ends: (R + 1,) offsets of the words.
        """
        return _encode(
            text_B, ends, wanted_R, self._keys_S, self._nodes_S, self._ids_N, np.int32(self._unk), self._longest
        )


@njit(cache=True, inline="always")
def _slot(keys_S, node, code):  # type: ignore[no-untyped-def]
    """Return the slot of a step, or the empty one where it belongs."""
    key = ((np.uint64(node) << _CODE_BITS) | np.uint64(code)) + _ONE
    mask = np.uint64(len(keys_S) - 1)
    slot = ((key * _MIX) >> _HALF) & mask
    while keys_S[slot] != key and keys_S[slot] != _EMPTY:
        slot = (slot + _ONE) & mask
    return slot, key


@njit(cache=True, nogil=True)
def _build(codes_C, ends_E, roots_E, ids_E):  # type: ignore[no-untyped-def]
    size = 16
    while size < 2 * len(codes_C):
        size *= 2
    keys_S = np.zeros(size, np.uint64)
    nodes_S = np.zeros(size, np.int32)
    ids_N = np.full(len(codes_C) + 2, _NONE, np.int32)
    nodes = 2
    at = 0
    for entry in range(len(ends_E)):
        node = roots_E[entry]
        while at < ends_E[entry]:
            slot, key = _slot(keys_S, node, codes_C[at])
            if keys_S[slot] == _EMPTY:
                keys_S[slot] = key
                nodes_S[slot] = nodes
                nodes += 1
            node = nodes_S[slot]
            at += 1
        ids_N[node] = ids_E[entry]
    ids_N[_START] = ids_N[_CONTINUED] = _NONE  # an empty entry stands for nothing
    return keys_S, nodes_S, ids_N[:nodes]


@njit(cache=True, inline="always")
def _code(text_B, at):  # type: ignore[no-untyped-def]
    """Return the code point at a place, and the bytes it takes: one or three."""
    first = np.int64(text_B[at])
    if first < 0x80:
        return first, 1
    return ((first & 0x0F) << 12) | ((np.int64(text_B[at + 1]) & 0x3F) << 6) | (np.int64(text_B[at + 2]) & 0x3F), 3


@njit(cache=True, nogil=True)
def _encode(text_B, ends, wanted_R, keys_S, nodes_S, ids_N, unk, longest):  # type: ignore[no-untyped-def]
    ids_T = np.empty(len(text_B), np.int32)
    counts_R = np.zeros(len(wanted_R), np.int64)
    used = 0
    for word in range(len(wanted_R)):
        if not wanted_R[word]:
            continue
        before = used
        start = ends[word]
        end = ends[word + 1]
        root = _START
        characters = 0
        for at in range(start, end):
            characters += (text_B[at] & 0xC0) != 0x80
        covered = characters <= longest
        while covered and start < end:
            entry, reached = np.int32(_NONE), start
            node, at = root, start
            while at < end:
                code, width = _code(text_B, at)
                slot, key = _slot(keys_S, node, code)
                if keys_S[slot] != key:
                    break
                node = nodes_S[slot]
                at += width
                if ids_N[node] != _NONE:
                    entry, reached = ids_N[node], at
            covered = entry != _NONE
            if covered:
                ids_T[used] = entry
                used += 1
                start, root = reached, _CONTINUED
        if not covered:
            used = before + 1
            ids_T[before] = unk
        counts_R[word] = used - before
    return ids_T[:used].copy(), counts_R
