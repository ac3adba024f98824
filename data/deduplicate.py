"""Exact duplicates: a 128-bit key a text, and which of equal keys survives (the first in input order)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable

import numpy as np
import xxhash
from pydantic import Field

from common.settings import Settings

KEY = np.dtype([("high", "<u8"), ("low", "<u8")])
PARTITION = 1 << 24
"""About as many keys are sorted at once: 16.8 million, some 0.8 GB at work."""


class DeduplicateSettings(Settings):
    """Which repeated texts are dropped."""

    documents: bool = True
    """Drop documents equal to an earlier one (Unicode NFC, runs of white space as one)."""
    sentences: bool = False
    """Drop sentences equal to an earlier one anywhere in the corpus. Off: the paper keeps them, and in running text a
    short answer said twice is no noise."""
    min_sentence_chars: int = Field(20, ge=1)
    """Shorter sentences are never dropped as duplicates."""


def normalise(text: str) -> str:
    """Return the text that counts for equality: NFC, one space for a run of white space, none at the borders."""
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.split())


def keys_of(texts: list[str]) -> np.ndarray:
    """Return the 128-bit xxh3 keys of the normalised texts as a structured array [len(texts)] of `KEY`."""
    digests = b"".join(xxhash.xxh3_128_digest(normalise(text).encode("utf-8", "surrogatepass")) for text in texts)
    return np.frombuffer(digests, ">u8").reshape(-1, 2).astype("<u8").view(KEY).reshape(-1)


def survivors(load: Callable[[], Iterable[np.ndarray]], total: int) -> np.ndarray:
    """Return a mask [total]: whether no earlier key equals this one.

    Keys are sorted in ranges of their high half, so that the memory at work is bounded; the result is one byte a key.

    Args:
        load: gives the key arrays (dtype `KEY`) in input order; called once a range.
        total: number of keys in all.
    """
    keep = np.ones(total, bool)
    ranges = -(-total // PARTITION) if total else 0
    for number in range(ranges):
        selected, places, offset = [], [], 0
        for keys in load():
            mask = keys["high"] % np.uint64(ranges) == number
            selected.append(keys[mask])
            places.append(np.flatnonzero(mask) + offset)
            offset += len(keys)
        chosen, place = np.concatenate(selected), np.concatenate(places)
        order = np.lexsort((chosen["low"], chosen["high"]))  # stable: equal keys stay in input order
        ordered = chosen[order]
        keep[place[order[1:][ordered[1:] == ordered[:-1]]]] = False
    return keep
