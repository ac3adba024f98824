"""A read-only table from 64-bit hashes to consecutive slots: sorted keys, buckets on their top bits, a bit filter.

Most look-ups are for hashes that are not there, and end at one bit of a filter small enough for the cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

BITS_PER_KEY = 12


class HashTable(NamedTuple):
    """K distinct keys; the slot of a key is its rank."""

    key_K: NDArray[np.uint64]
    """Ascending."""
    bucket: NDArray[np.int32]
    """First rank of the keys whose top bits are the index; one more at the end."""
    bucket_shift: np.uint64
    filter_bits: NDArray[np.uint64]
    """Bit filter over the lowest bits of the keys."""
    filter_mask: np.uint64


def build_hash_table(keys: NDArray[np.uint64]) -> HashTable:
    """Return a table of the keys, which are distinct and ascending."""
    bits = max(len(keys).bit_length(), 1)
    shift = np.uint64(64 - bits)
    edges = np.arange(1 << bits, dtype=np.uint64) << shift
    bucket = np.append(np.searchsorted(keys, edges), len(keys)).astype(np.int32)
    size = max(1 << (len(keys) * BITS_PER_KEY).bit_length(), 64)
    mask = np.uint64(size - 1)
    places = keys & mask
    words = np.zeros(size // 64, np.uint64)
    np.bitwise_or.at(words, (places >> np.uint64(6)).astype(np.int64), np.uint64(1) << (places & np.uint64(63)))
    return HashTable(keys, bucket, shift, words, mask)


@njit(cache=True, inline="always")
def _may_hold(table, key):  # type: ignore[no-untyped-def]
    """Return 0 where the filter rules the key out, else 1."""
    place = key & table.filter_mask
    return table.filter_bits[place >> np.uint64(6)] >> (place & np.uint64(63)) & np.uint64(1)


@njit(cache=True, inline="always")
def find_slot(table, key):  # type: ignore[no-untyped-def]
    """Return the slot of `key`, or -1."""
    if not _may_hold(table, key):
        return -1
    top = np.int64(key >> table.bucket_shift)
    for rank in range(table.bucket[top], table.bucket[top + 1]):
        if table.key_K[rank] == key:
            return rank
    return -1


@njit(cache=True)
def sift(table, keys, likely):  # type: ignore[no-untyped-def]
    """Enter into `likely` the keys that the filter lets through, without a branch, and return how many."""
    count = np.int64(0)
    for key in keys:
        likely[count] = key
        count += np.int64(_may_hold(table, key))
    return count


@njit(cache=True, nogil=True)
def find_slots(table, keys):  # type: ignore[no-untyped-def]
    """Return the slot of each key, or -1."""
    slots = np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        slots[i] = find_slot(table, keys[i])
    return slots
