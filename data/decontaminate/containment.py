"""Containment search: which benchmark sentence has at least a share τ of its BM25 weight inside a corpus sentence.

Exact, and without looking at most of the postings:

1. A benchmark sentence is filed only under its rarest terms, until the weight of the rest is below what it needs:
   whatever reaches τ shares one of these.
2. The posting of a term is for corpus sentences without the rarer ones, which have postings of their own. It carries a
   128-bit signature of the other terms and the greatest number of them (the lightest) that may then be missing; more
   signature bits than that missing from the query's signature rules it out. Commoner terms, whose postings are many,
   so leave the least room.
3. What is left is verified by the exact integer sum, heaviest terms first, ended as soon as too much is missing.
4. A long corpus sentence may hold a benchmark sentence's words by chance, far apart. So the share must be reached
   inside a window of `spread` times the benchmark sentence's own number of terms; the score is the best window's.
5. A short benchmark sentence ("이해하기가 매우 어렵습니다.") may stand in any sentence but for a word. So containment
   is asked for both ways: the corpus sentence is no longer than that window, and τ of its terms are the benchmark's.

Legend: D benchmark sentences, P postings, E their (sentence, term) entries, K terms filed, N corpus sentences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from data.decontaminate.bm25 import PARTS, RANK, RANK_BITS, needed_weight, sort_values, weigh_terms
from data.decontaminate.hashtable import HashTable, build_hash_table, find_slot, sift
from data.decontaminate.terms import Terms

ONE = np.uint64(1)
HALF = 64
"""Places in each half of a signature."""
FEWEST = np.uint64(48)
SENTENCE = np.uint64(16)
MISSING = np.uint64(0xFFFF)
LOW_HALF = np.uint64(0xFFFFFFFF)
"""Bits of a posting's facts."""
SEEN = 1024
"""Benchmark sentences that are remembered as verified, so few that they stay in the nearest cache."""


class ContainmentIndex(NamedTuple):
    """The benchmark's sentences by words, or by bigrams."""

    terms: HashTable
    first_posting_K: NDArray[np.int64]
    """K + 1 offsets into the postings."""
    posting_P3: NDArray[np.uint64]
    """Low and high half of the signature, then the facts (see `_facts`); the postings of a term by ascending facts."""
    first_entry_D: NDArray[np.int64]
    """D + 1 offsets into the entries."""
    hash_E: NDArray[np.uint64]
    weight_E: NDArray[np.int32]
    """Descending in each sentence."""
    total_D: NDArray[np.int64]
    need_D: NDArray[np.int64]
    """Least weight that is a hit."""
    window_D: NDArray[np.int32]
    """Terms of a corpus sentence, with repetitions, within which that weight must be found."""
    short_D: NDArray[np.bool_]
    """Whether the corpus sentence must be explained as well."""
    threshold_parts: np.int64
    """τ in millionths."""


def build_containment_index(
    terms: Terms, eligible_D: NDArray[np.bool_], short_D: NDArray[np.bool_], threshold: float, floor: int, spread: float
) -> ContainmentIndex:
    """Return the index of the eligible benchmark sentences with at least `floor` distinct terms.

    Args:
        terms: the terms of every benchmark sentence; frequencies count them all.
        eligible_D: for each sentence whether it may be found at all.
        short_D: for each whether it must make up the corpus sentence.
        threshold: τ, above 0, at most 1.
        spread: length of a window by that of the benchmark sentence, at least 1.
    """
    keys, frequency_K, first_entry_D, rank_E, weight_E = weigh_terms(terms)
    total_D = np.diff(np.append(0, np.cumsum(weight_E))[first_entry_D])
    need_D = needed_weight(total_D, threshold)
    chosen_D = eligible_D & (np.diff(first_entry_D) >= floor)
    hash_E = keys[rank_E]
    rank_P, posting_P3 = _prefix(first_entry_D, rank_E, hash_E, weight_E, frequency_K, total_D - need_D, chosen_D)
    postings_K = np.bincount(rank_P, minlength=len(keys))
    filed_K = postings_K > 0
    return ContainmentIndex(
        build_hash_table(keys[filed_K]),
        np.append(0, np.cumsum(postings_K[filed_K])),
        posting_P3[_order(rank_P, posting_P3[:, 2])],
        first_entry_D,
        hash_E,
        weight_E.astype(np.int32),
        total_D,
        need_D,
        window_lengths(np.diff(terms.first_term_N), spread),
        short_D,
        np.int64(round(threshold * PARTS)),
    )


def _order(rank_P: NDArray[np.int64], facts_P: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the postings, which are by sentence, by rank, then by facts: a radix sort."""
    order = np.arange(len(rank_P))
    for digit_P in (facts_P >> FEWEST, rank_P & 0xFFFF, rank_P >> 16):
        order = order[np.argsort(digit_P[order].astype(np.uint16), kind="stable")]
    return order


def window_lengths(lengths: NDArray[np.int32], spread: float) -> NDArray[np.int32]:
    """Return `spread` (a decimal) times each length, rounded up."""
    return (-(-lengths.astype(np.int64) * round(spread * 1000) // 1000)).astype(np.int32)


@njit(cache=True, nogil=True)
def _prefix(first_entry, ranks, hashes, weights, frequencies, spare, chosen):  # type: ignore[no-untyped-def]
    """Return (rank of the hash, posting) of the terms that are filed, by sentence, the rarest term first.

    Args:
        frequencies: sentences that hold the hash of a rank.
        spare: weight of each sentence that may be missing.
    """
    rank_P = np.empty(len(hashes), np.int64)
    posting_P3 = np.empty((len(hashes), 3), np.uint64)
    passed = np.zeros(len(hashes), np.bool_)
    at_place = np.empty(2 * HALF, np.int64)
    halves = np.empty(2, np.uint64)
    postings = 0
    for d in range(len(spare)):
        if not chosen[d]:
            continue
        start, end = first_entry[d], first_entry[d + 1]
        at_place[:] = 0
        halves[:] = 0
        rarest = np.empty(end - start, np.int64)
        for entry in range(start, end):
            place = _place(hashes[entry])
            at_place[place] += 1
            halves[place // HALF] |= ONE << np.uint64(place % HALF)
            rarest[entry - start] = frequencies[ranks[entry]] << RANK_BITS | (entry - start)
        sort_values(rarest)
        left = spare[d]
        lightest = end
        missing = light = 0  # of the lightest terms, which `left` allows to be missing
        while lightest > start and light + weights[lightest - 1] <= left:
            lightest -= 1
            light += weights[lightest]
            missing += 1
        terms = end - start
        for packed in rarest:
            entry = start + (packed & RANK)
            rank_P[postings] = ranks[entry]
            posting_P3[postings, 0] = halves[0]
            posting_P3[postings, 1] = halves[1]
            posting_P3[postings, 2] = _facts(terms - missing, d, missing)
            postings += 1
            terms -= 1
            left -= weights[entry]
            if left < 0:
                break
            place = _place(hashes[entry])
            at_place[place] -= 1
            if at_place[place] == 0:
                halves[place // HALF] ^= ONE << np.uint64(place % HALF)
            passed[entry] = True
            if entry >= lightest:
                light -= weights[entry]
                missing -= 1
            while light > left:
                if not passed[lightest]:
                    light -= weights[lightest]
                    missing -= 1
                lightest += 1
    return rank_P[:postings], posting_P3[:postings]


@njit(cache=True, nogil=True)
def _facts(fewest, sentence, missing):  # type: ignore[no-untyped-def]
    """Return in one word: how many terms a corpus sentence has at least, the sentence, how many may be missing."""
    # more than the places of a signature are never seen to be missing
    return (
        np.uint64(min(fewest, 0xFFFF)) << FEWEST | np.uint64(sentence) << SENTENCE | np.uint64(min(missing, 2 * HALF))
    )


@njit(cache=True, inline="always")
def _place(term):  # type: ignore[no-untyped-def]
    """Return the place of a term in a signature: 0 to 127."""
    return np.int64(term >> np.uint64(57))


@njit(cache=True, inline="always")
def _count_bits(bits):  # type: ignore[no-untyped-def]
    bits = bits - ((bits >> ONE) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True)
def search_containment(index, hashes, first_term):  # type: ignore[no-untyped-def]
    """Return (benchmark sentence or -1, score) for each corpus sentence: the highest score, then the lowest number."""
    sentences = len(first_term) - 1
    best_N = np.full(sentences, -1, np.int32)
    score_N = np.zeros(sentences, np.float64)
    longest = max(1, index.window_D.max()) if len(index.window_D) else 1
    sentence_Q, start_Q, end_Q = _pieces(first_term, longest)
    if sentences == 0:
        return best_N, score_N
    size = 2
    while size < 2 * np.max(end_Q - start_Q):  # as small as it can be: it stays in the nearest cache
        size *= 2
    member = np.empty(size, np.uint64)
    member_of = np.zeros(size, np.int32)
    likely = np.empty(size, np.uint64)
    seen = np.empty(SEEN, np.int64)
    seen_at = np.zeros(SEEN, np.int64)
    for q in range(len(sentence_Q)):
        n = sentence_Q[q]
        start = start_Q[q]
        end = end_Q[q]
        stamp = q + 1
        low = high = ~np.uint64(0)  # places without a term
        for t in range(start, end):
            place = _place(hashes[t])
            if place < HALF:
                low &= ~(ONE << np.uint64(place))
            else:
                high &= ~(ONE << np.uint64(place - HALF))
        gathered = False
        for key in likely[: sift(index.terms, hashes[start:end], likely)]:
            slot = find_slot(index.terms, key)
            if slot < 0:
                continue
            for p in range(index.first_posting_K[slot], index.first_posting_K[slot + 1]):
                facts = index.posting_P3[p, 2]
                if np.int64(facts >> FEWEST) > end - start:
                    break
                may_miss = np.int64(facts & MISSING)
                lacking = _count_bits(index.posting_P3[p, 0] & low)
                if lacking > may_miss or lacking + _count_bits(index.posting_P3[p, 1] & high) > may_miss:
                    continue
                d = np.int64(facts >> SENTENCE & LOW_HALF)
                if seen[d % SEEN] == d and seen_at[d % SEEN] == stamp:
                    continue
                seen[d % SEEN], seen_at[d % SEEN] = d, stamp
                if not gathered:
                    gathered = True
                    _gather(hashes, start, end, member, member_of, stamp)
                weight = _verify(index, d, member, member_of, stamp)
                if weight > 0 and index.short_D[d]:
                    if not _explains(index, d, hashes, first_term[n], first_term[n + 1]):
                        weight = 0
                elif weight > 0 and end - start > index.window_D[d]:
                    weight = _best_window(index, d, hashes, start, end)
                score = weight / index.total_D[d]
                if score > score_N[n] or (score == score_N[n] and weight > 0 and d < best_N[n]):
                    best_N[n], score_N[n] = d, score
    return best_N, score_N


@njit(cache=True)
def _pieces(first_term, longest):  # type: ignore[no-untyped-def]
    """Return (sentence, start, end) of the pieces in which sentences are searched, Q of them.

    A hit lies within a window, so a sentence longer than two of the longest windows is cut into pieces of that length
    that overlap by one window: else each benchmark sentence of which a long line holds some words, far apart, would
    cost a pass over the line.
    """
    count = 0
    for n in range(len(first_term) - 1):
        count += 1 + max(0, first_term[n + 1] - first_term[n] - longest - 1) // longest
    sentence = np.empty(count, np.int64)
    start = np.empty(count, np.int64)
    end = np.empty(count, np.int64)
    q = 0
    for n in range(len(first_term) - 1):
        begin = first_term[n]
        while True:
            sentence[q] = n
            start[q] = begin
            end[q] = min(begin + 2 * longest, first_term[n + 1])
            q += 1
            if end[q - 1] == first_term[n + 1]:
                break
            begin += longest
    return sentence[:q], start[:q], end[:q]


@njit(cache=True)
def _gather(hashes, start, end, member, member_of, stamp):  # type: ignore[no-untyped-def]
    """Enter a sentence's terms into the open-addressed set that carries its stamp."""
    mask = np.int64(len(member) - 1)
    for t in range(start, end):
        place = np.int64(hashes[t]) & mask
        while member_of[place] == stamp and member[place] != hashes[t]:
            place = (place + 1) & mask
        member[place], member_of[place] = hashes[t], stamp


@njit(cache=True)
def _verify(index, d, member, member_of, stamp):  # type: ignore[no-untyped-def]
    """Return the weight of d that the gathered terms hold, or 0 when it is below what d needs."""
    mask = np.int64(len(member) - 1)
    allowed = index.total_D[d] - index.need_D[d]
    missing = 0
    for entry in range(index.first_entry_D[d], index.first_entry_D[d + 1]):
        key = index.hash_E[entry]
        place = np.int64(key) & mask
        while member_of[place] == stamp and member[place] != key:
            place = (place + 1) & mask
        if member_of[place] != stamp:
            missing += index.weight_E[entry]
            if missing > allowed:
                return 0
    return index.total_D[d] - missing


@njit(cache=True)
def _explains(index, d, hashes, start, end):  # type: ignore[no-untyped-def]
    """Return whether the sentence fits into d's window and τ of its terms are terms of d."""
    if end - start > index.window_D[d]:
        return False
    shared = 0
    for t in range(start, end):
        for entry in range(index.first_entry_D[d], index.first_entry_D[d + 1]):
            if index.hash_E[entry] == hashes[t]:
                shared += 1
                break
    return shared * PARTS >= index.threshold_parts * (end - start)


@njit(cache=True)
def _best_window(index, d, hashes, start, end):  # type: ignore[no-untyped-def]
    """Return the greatest weight of d held by a window of the sentence, or 0 when it is below what d needs."""
    first = index.first_entry_D[d]
    count = index.first_entry_D[d + 1] - index.first_entry_D[d]
    order = np.argsort(index.hash_E[first : first + count])
    ordered = index.hash_E[first : first + count][order]
    entry_of = np.full(end - start, -1, np.int64)
    for t in range(start, end):
        rank = np.searchsorted(ordered, hashes[t])
        if rank < count and ordered[rank] == hashes[t]:
            entry_of[t - start] = order[rank]
    inside = np.zeros(count, np.int64)
    weight = best = 0
    for t in range(end - start):
        new = entry_of[t]
        if new >= 0:
            if inside[new] == 0:
                weight += index.weight_E[first + new]
            inside[new] += 1
        old = entry_of[t - index.window_D[d]] if t >= index.window_D[d] else -1
        if old >= 0:
            inside[old] -= 1
            if inside[old] == 0:
                weight -= index.weight_E[first + old]
        best = max(best, weight)
    return best if best >= index.need_D[d] else 0
