"""Near duplicates found: documents that share a band key are compared, and copies of an earlier one are dropped.

Two steps, both vectorised, both independent of how the work is cut:

1. The documents with one key of one band form a bucket. The first of a bucket leads: the others are compared with it
   (equal numbers in the signatures), and the like ones are a pair with it. The rest form a bucket again, at most
   `LEADERS` times, so a bucket of m documents costs at most `LEADERS` · m comparisons, however large it is.
2. Documents in pairs, directly or by a chain, form a cluster. In each, the first stays, and what is like *it* is
   dropped; of the rest the first stays, and so on. So every document dropped is like a document that stays: a chain
   of small changes does not end in the loss of a text that nothing kept resembles.

A bucket depends on its own documents alone and so does a cluster, so any part of the buckets and any part of the
clusters may be looked at by itself (`data.deduplicate.near_copies`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numba import njit
from numpy.lib.recfunctions import repack_fields

from data.deduplicate.near import PERMUTATIONS

LEADERS = 16
"""Documents of a bucket or cluster with which the others are compared, at most."""
COMPARED = 1 << 16
"""Pairs whose signatures are in memory at once: some 150 MB."""
CLUSTERED = np.dtype([("root", "<i8"), ("place", "<i8")])
"""A document, and the first of its cluster."""
COPY = np.dtype([("dropped", "<i8"), ("kept", "<i8"), ("equal", "<i4")])
"""A document to drop, the earlier one that stays in its stead, and how many numbers of their signatures are equal."""

Compare = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(places, places) → how many of the `PERMUTATIONS` numbers of the two signatures are equal."""


def least_equal(threshold: float) -> int:
    """Return the least number of equal entries in two signatures of documents of similarity `threshold` (0 to 1)."""
    return int(np.ceil(threshold * PERMUTATIONS - 1e-9))


def like_pairs(keys: np.ndarray, places: np.ndarray, compare: Compare, least: int) -> np.ndarray:
    """Return the pairs of like documents in the buckets of some keys of one band, as `COPY` without `equal`.

    Args:
        keys: of the band; with a key come all documents that have it.
        places: of the documents; ascending among equal keys.
    """
    order = np.argsort(keys, kind="stable")
    keys, places = keys[order], places[order]
    again = np.zeros(len(places) + 1, bool)
    again[1:-1] = keys[1:] == keys[:-1]
    shared = again[:-1] | again[1:]
    bucket = np.cumsum(~again[:-1][shared])
    pairs = _like(places[shared], bucket, compare, least)
    return repack_fields(pairs[["dropped", "kept"]])


def clusters(load: Callable[[], Iterable[np.ndarray]], documents: int) -> np.ndarray:
    """Return the documents that pairs join, directly or by a chain, as `CLUSTERED`, clusters by their first document.

    Memory: a byte a document, and some 70 for each that is in a pair. `load` is called twice.
    """
    joined = np.zeros(documents, bool)
    for pairs in load():
        joined[pairs["dropped"]] = joined[pairs["kept"]] = True
    places = np.flatnonzero(joined)
    del joined
    root = np.arange(len(places))
    for pairs in load():
        _join(root, np.searchsorted(places, pairs["dropped"]), np.searchsorted(places, pairs["kept"]))
    _flatten(root)
    order = np.argsort(root, kind="stable")
    clustered = np.empty(len(places), CLUSTERED)
    clustered["root"] = places[root[order]]
    clustered["place"] = places[order]
    return clustered


def copies(clustered: np.ndarray, compare: Compare, least: int) -> np.ndarray:
    """Return what goes of whole clusters (`CLUSTERED`, places ascending in each), as `COPY`, `dropped` ascending."""
    gone = _like(clustered["place"], clustered["root"], compare, least)
    return gone[np.argsort(gone["dropped"])]


def _like(places: np.ndarray, group: np.ndarray, compare: Compare, least: int) -> np.ndarray:
    """Return what is like the first of its group, then what of the rest is like the first of that, …, as `COPY`.

    Args:
        places: documents, ascending within a group.
        group: the group of each; a group is a run.
        least: of like documents; with fewer equal numbers a member is left for the next leader.
    """
    gone = [np.empty(0, COPY)]
    for _ in range(LEADERS):
        first = np.concatenate(([True], group[1:] != group[:-1]))
        if first.all():
            break
        members = places[~first]
        leaders = places[first][np.cumsum(first) - 1][~first]
        group = group[~first]
        batches = [slice(start, start + COMPARED) for start in range(0, len(members), COMPARED)]
        equal = np.concatenate([compare(members[chosen], leaders[chosen]) for chosen in batches])
        like = equal >= least
        gone.append(np.empty(int(like.sum()), COPY))
        gone[-1]["dropped"] = members[like]
        gone[-1]["kept"] = leaders[like]
        gone[-1]["equal"] = equal[like]
        places, group = members[~like], group[~like]
    return np.concatenate(gone)


@njit(cache=True)
def _root_of(root: np.ndarray, place: int) -> int:
    while root[place] != place:
        root[place] = root[root[place]]
        place = root[place]
    return place


@njit(cache=True)
def _join(root: np.ndarray, firsts: np.ndarray, seconds: np.ndarray) -> None:
    """Join documents pair by pair; the smaller root becomes the root of both."""
    for first, second in zip(firsts, seconds):  # noqa: B905 (numba knows no strict)
        a, b = _root_of(root, first), _root_of(root, second)
        root[max(a, b)] = min(a, b)


@njit(cache=True)
def _flatten(root: np.ndarray) -> None:
    for place in range(len(root)):
        root[place] = root[root[place]]
