"""Exact duplicates: a 128-bit key a text, and which of equal keys survives (the first in input order)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import xxhash

from data.nfc import nfc

KEY = np.dtype([("high", "<u8"), ("low", "<u8")])
PARTITION = 1 << 24
"""About as many keys are sorted at once: 16.8 million, some 0.8 GB at work."""


def normalise(text: str) -> str:
    """Return the text that counts for equality: NFC, one space for a run of white space, none at the borders."""
    text = nfc(text)
    line = text.replace("\n", " ")
    if "  " not in line and line.isprintable():  # no other blank is printable: three times as fast as cutting
        return line.strip(" ")
    return " ".join(text.split())


def keys_of(texts: list[str]) -> np.ndarray:
    """Return the 128-bit xxh3 keys of the normalised texts as a structured array [len(texts)] of `KEY`."""
    digests = b"".join(xxhash.xxh3_128_digest(normalise(text).encode("utf-8", "surrogatepass")) for text in texts)
    return np.frombuffer(digests, ">u8").reshape(-1, 2).astype("<u8").view(KEY).reshape(-1)


def repeated(keys: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (places of keys that an earlier one equals, places of the first of those); equal keys in input order."""
    order = np.lexsort((keys["low"], keys["high"]))  # stable: equal keys stay in input order
    ordered, places = keys[order], places[order]
    again = np.zeros(len(places), bool)
    again[1:] = ordered[1:] == ordered[:-1]
    firsts = np.flatnonzero(~again)
    return places[again], places[firsts[np.cumsum(~again)[again] - 1]]


def survivors(load: Callable[[], Iterable[np.ndarray]], total: int) -> np.ndarray:
    """Return a mask [total]: whether no earlier key equals this one.

    Keys are sorted in ranges of their high half, to bound memory; `load` gives them in input order, once a range.
    """
    keep = np.ones(total, bool)
    ranges = -(-total // PARTITION)
    for number in range(ranges):
        selected = []
        places = []
        offset = 0
        for keys in load():
            mask = keys["high"] % np.uint64(ranges) == number
            selected.append(keys[mask])
            places.append(np.flatnonzero(mask) + offset)
            offset += len(keys)
        dropped, _ = repeated(np.concatenate(selected), np.concatenate(places))
        keep[dropped] = False
    return keep
