"""Fragment search: the corpus sentence is a piece of a longer benchmark text.

Decision: the longest run of letters (blanks and punctuation gone) that the sentence shares with a benchmark text has
at least `min_characters` letters and `min_syllables` syllables, and makes up at least τ of the sentence. A run is
ordered and unbroken, so common words alone never add up to one. Each pair of neighbouring letters counts once among the
syllables, so laughter and rows of zeros are short, however long they are written; three letters of another script count
as one syllable, so a name ("Red Hat Enterprise Linux") is short as well.

Exact and small: only the runs of SEED letters at every STRIDE-th place of a text are filed. Any shared run of
SEED + STRIDE − 1 letters covers a filed one; each is extended letter by letter. A shared run of τ of the sentence
also covers the sentence's middle, so STRIDE look-ups there are enough when the middle is long enough.

Legend: S benchmark texts, L their letters, K distinct seeds, P places of seeds, N corpus sentences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from data.decontaminate.bm25 import PARTS
from data.decontaminate.hashtable import HashTable, build_hash_table, find_slot
from data.decontaminate.terms import FIRST_SYLLABLE, MULTIPLIER, SHIFT_32, FoldedText

SEED, STRIDE = 8, 12
SHIFT_16 = np.uint64(16)
SHIFT_48 = np.uint64(48)


class FragmentIndex(NamedTuple):
    """The letters of the benchmark's texts, and where their seeds stand."""

    seeds: HashTable
    first_place_K: NDArray[np.int64]
    """K + 1 offsets into the places."""
    place_P: NDArray[np.int32]
    letters_L: NDArray[np.uint16]
    """The texts, each ended by 0, which no letter equals."""
    first_letter_S: NDArray[np.int64]
    """S + 1 offsets into the letters."""
    threshold_parts: np.int64
    min_characters: np.int64
    min_thirds: np.int64
    """Fewest thirds of syllables."""


def build_fragment_index(text: FoldedText, threshold: float, min_characters: int, min_syllables: int) -> FragmentIndex:
    """Return the index of the texts.

    Args:
        threshold: τ, above 0, at most 1.
        min_characters: fewest letters of a run, at least SEED + STRIDE − 1.
        min_syllables: fewest syllables of a run, repeated ones left out; 0 asks for none.
    """
    lengths = np.diff(text.first_letter_N)
    first_letter_S = np.append(0, np.cumsum(lengths + 1)).astype(np.int64)
    letters_L = np.insert(text.letters_L, text.first_letter_N[1:], 0).astype(np.uint16)
    places, hashes = _seeds(letters_L, first_letter_S)
    order = np.lexsort((places, hashes))
    keys, first = np.unique(hashes[order], return_index=True)
    return FragmentIndex(
        build_hash_table(keys),
        np.append(first, len(places)).astype(np.int64),
        places[order].astype(np.int32),
        letters_L,
        first_letter_S,
        np.int64(round(threshold * PARTS)),
        np.int64(min_characters),
        np.int64(3 * min_syllables),
    )


@njit(cache=True, nogil=True)
def _seeds(letters, first_letter):  # type: ignore[no-untyped-def]
    """Return (place, hash) of every seed that fits into its text."""
    places = np.empty(len(letters) // STRIDE + len(first_letter), np.int64)
    hashes = np.empty(len(places), np.uint64)
    count = 0
    for s in range(len(first_letter) - 1):
        for place in range(first_letter[s], first_letter[s + 1] - SEED, STRIDE):
            places[count] = place
            head, tail = _next_seed(letters, place, np.uint64(0), np.uint64(0), True)
            hashes[count] = _hash_seed(head, tail)
            count += 1
    return places[:count], hashes[:count]


@njit(cache=True, inline="always")
def _next_seed(letters, place, head, tail, anew):  # type: ignore[no-untyped-def]
    """Return the two halves of the seed at a place, four letters each, given those of the place before or `anew`."""
    for letter in range(place if anew else place + 3, place + 4):
        head = head >> SHIFT_16 | np.uint64(letters[letter]) << SHIFT_48
        tail = tail >> SHIFT_16 | np.uint64(letters[letter + 4]) << SHIFT_48
    return head, tail


@njit(cache=True, inline="always")
def _hash_seed(head, tail):  # type: ignore[no-untyped-def]
    """Return a hash of a seed's halves, quick rather than good: seeds are compared letter by letter."""
    value = (head * MULTIPLIER ^ tail) * MULTIPLIER
    return value ^ value >> SHIFT_32


@njit(cache=True)
def search_fragments(index, letters, first_letter):  # type: ignore[no-untyped-def]
    """Return (benchmark text or -1, shared share) for each corpus sentence: the longest run, then the first text."""
    sentences = len(first_letter) - 1
    best_N = np.full(sentences, -1, np.int32)
    score_N = np.zeros(sentences, np.float64)
    for n in range(sentences):
        start, end = first_letter[n], first_letter[n + 1]
        length = end - start
        need = max(index.min_characters, -(-index.threshold_parts * length // PARTS))
        if need > length:
            continue
        middle = 2 * need - length
        if middle >= SEED + STRIDE - 1:
            first, last = end - need, end - need + STRIDE
        else:
            first, last = start, end - SEED + 1
        longest = need - 1
        head = tail = np.uint64(0)
        for q in range(first, last):
            head, tail = _next_seed(letters, q, head, tail, q == first)
            slot = find_slot(index.seeds, _hash_seed(head, tail))
            if slot < 0:
                continue
            for p in range(index.first_place_K[slot], index.first_place_K[slot + 1]):
                place = index.place_P[p]
                left, right = _shared_run(letters, start, end, q, index.letters_L, place)
                run = left + right
                # places of a seed ascend, but those of different seeds do not: on a tie the lower text wins
                if (run > longest or (run == longest and best_N[n] >= 0)) and _says_enough(
                    letters, q - left, q + right, index.min_thirds
                ):
                    text = np.searchsorted(index.first_letter_S, place, side="right") - 1
                    if run > longest or text < best_N[n]:
                        best_N[n] = text
                    longest = run
        if best_N[n] >= 0:
            score_N[n] = longest / length
    return best_N, score_N


@njit(cache=True)
def _shared_run(letters, start, end, q, text, place):  # type: ignore[no-untyped-def]
    """Return how far the run of a sentence that equals the one around `place` of the texts reaches around letter q."""
    left = 0
    while q - left - 1 >= start and place - left - 1 >= 0 and letters[q - left - 1] == text[place - left - 1]:
        left += 1
    right = 0
    while q + right < end and place + right < len(text) and letters[q + right] == text[place + right]:
        right += 1
    return left, right


@njit(cache=True)
def _says_enough(letters, start, end, min_thirds):  # type: ignore[no-untyped-def]
    """Return whether the run start..end has so many thirds of syllables, each pair of letters counted once."""
    seen = np.empty(min_thirds, np.uint32)  # a pair is worth a third or more
    count = thirds = 0
    for i in range(start + 1, end):
        if thirds >= min_thirds:
            break
        pair = (np.uint32(letters[i - 1]) << np.uint32(16)) | np.uint32(letters[i])
        known = False
        for j in range(count):
            known |= seen[j] == pair
        if not known:
            seen[count] = pair
            count += 1
            thirds += 3 if letters[i] >= FIRST_SYLLABLE else 1
    return thirds >= min_thirds
