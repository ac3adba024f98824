"""Near duplicates found: documents that share a band key are compared, and copies of an earlier one are dropped.

Two passes, both vectorised, both independent of how the work is cut:

1. Band by band, the documents with one band key form a bucket. The first of a bucket leads: the others are compared
   with it (equal numbers in the signatures), the like ones are joined to it. The rest form a bucket again, at most
   `LEADERS` times, so a bucket of m documents costs at most `LEADERS` · m comparisons, however large it is.
2. Documents joined, directly or by a chain, form a cluster. In each, the first stays, and what is like *it* is
   dropped; of the rest the first stays, and so on. So every document dropped is like a document that stays: a chain
   of small changes does not end in the loss of a text that nothing kept resembles.

Memory at work for n documents: 32 n bytes, and per pass some 60 bytes for each of `PARTITION` band keys, and the
signatures of `COMPARED` pairs: about 1.8 GB for 20 million documents, whatever their size (0.24 GB were seen for 3
million). The signatures (512 bytes a document) and band keys (8 bytes a band) stay on the disk and are mapped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from data.deduplicate.near import PERMUTATIONS

PARTITION = 1 << 24
"""About as many band keys are sorted at once."""
LEADERS = 16
"""How many documents of a bucket, or of a cluster, the others are compared with at most."""
COMPARED = 1 << 16
"""Pairs whose signatures are in memory at once: some 150 MB."""

Compare = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(places, places) → how many of the `PERMUTATIONS` numbers of the two signatures are equal."""


class NearDuplicates(NamedTuple):
    """Documents to drop, by place, each with the earlier document that stays in its stead."""

    dropped: np.ndarray
    kept: np.ndarray
    similarity: np.ndarray
    """Share of equal numbers in the two signatures."""


def near_duplicates(
    load: Callable[[int], Iterable[np.ndarray]],
    bands: int,
    candidates: np.ndarray,
    compare: Compare,
    threshold: float,
    progress: Callable[[], object] = lambda: None,
) -> NearDuplicates:
    """Return which documents are near copies of an earlier one that stays; `dropped` is ascending.

    Args:
        load: gives the keys of one band (uint64, a document each) in input order, in any pieces; called once or more.
        bands: number of bands.
        candidates: mask [documents]: those that take part (others are dropped already).
        compare: counts the equal numbers of signatures.
        threshold: least similarity of copies, 0 to 1.
        progress: called after each band.
    """
    least = int(np.ceil(threshold * PERMUTATIONS - 1e-9))
    root = np.arange(len(candidates))
    for band in range(bands):
        before = root.copy()  # what was joined by earlier bands: the same for any partition
        for places, bucket in _buckets(lambda band=band: load(band), candidates):  # type: ignore[misc]
            for members, leaders, equal in _leaders(places, bucket, compare, least, before):
                _join(root, members[equal >= least], leaders[equal >= least])
        _flatten(root)
        progress()
    places = np.flatnonzero((np.bincount(root, minlength=len(root)) > 1)[root])
    order = np.argsort(root[places], kind="stable")
    places = places[order]
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for members, leaders, equal in _leaders(places, root[places], compare, least, None):
        like = equal >= least
        found.append((members[like], leaders[like], equal[like]))
    if not found:
        nothing = np.empty(0, np.int64)
        return NearDuplicates(nothing, nothing, nothing.astype(np.float64))
    dropped, kept, equal = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(dropped)
    return NearDuplicates(dropped[order], kept[order], equal[order] / PERMUTATIONS)


def _buckets(
    load: Callable[[], Iterable[np.ndarray]], candidates: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (places, bucket of each) of the documents that share a band key with others, a range of keys at a time.

    Places are ascending within a bucket.
    """
    ranges = -(-int(candidates.sum()) // PARTITION)
    for number in range(ranges):
        selected, places, offset = [], [], 0
        for keys in load():
            mask = candidates[offset : offset + len(keys)] & (keys % np.uint64(ranges) == number)
            selected.append(keys[mask])
            places.append(np.flatnonzero(mask) + offset)
            offset += len(keys)
        chosen, place = np.concatenate(selected), np.concatenate(places)
        order = np.argsort(chosen, kind="stable")
        chosen, place = chosen[order], place[order]
        again = np.zeros(len(place) + 1, bool)
        again[1:-1] = chosen[1:] == chosen[:-1]
        shared = again[:-1] | again[1:]
        first = ~again[:-1][shared]
        yield place[shared], np.cumsum(first)


def _leaders(
    places: np.ndarray, group: np.ndarray, compare: Compare, least: int, joined: np.ndarray | None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (members, the leader of each, equal numbers): the first of a group leads, then the first of its rest, …

    Args:
        places: documents, ascending within a group.
        group: the group of each; a group is a run.
        compare: counts equal numbers.
        least: with fewer equal numbers a member is left for the next leader.
        joined: documents with equal values here are taken for like, and not compared; None compares all.
    """
    for _ in range(LEADERS):
        first = np.concatenate(([True], group[1:] != group[:-1]))
        if first.all():
            return
        members, leaders = places[~first], places[first][np.cumsum(first) - 1][~first]
        group = group[~first]
        stays = np.ones(len(members), bool)
        unknown = np.ones(len(members), bool) if joined is None else joined[members] != joined[leaders]
        stays[~unknown] = False
        at = np.flatnonzero(unknown)
        for start in range(0, len(at), COMPARED):
            chosen = at[start : start + COMPARED]
            equal = compare(members[chosen], leaders[chosen])
            stays[chosen] = equal < least
            yield members[chosen], leaders[chosen], equal
        places, group = members[stays], group[stays]


@njit(cache=True)
def _root_of(root: np.ndarray, place: int) -> int:
    while root[place] != place:
        root[place] = root[root[place]]
        place = root[place]
    return place


@njit(cache=True)
def _join(root: np.ndarray, ones: np.ndarray, others: np.ndarray) -> None:
    """Join documents pair by pair; the smaller root becomes the root of both."""
    for one, other in zip(ones, others):  # noqa: B905 (numba knows no strict)
        a, b = _root_of(root, one), _root_of(root, other)
        root[max(a, b)] = min(a, b)


@njit(cache=True)
def _flatten(root: np.ndarray) -> None:
    """Point every document at its root."""
    for place in range(len(root)):
        root[place] = root[root[place]]
