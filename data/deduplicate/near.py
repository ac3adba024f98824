"""Near duplicates: MinHash signatures of documents, and the keys under which like signatures meet.

A document is the set of its *shingles*: every 5 characters in a row, blanks left out. Characters and not words,
because Korean spacing is free (할 수 있다, 할수있다) and particles hang on the words: with words in a row every such
variant would make several new shingles, with characters it makes none or a few. Five syllables are about two words.
On real text (petitions, speeches, comments) 99.9% of the pairs of unrelated documents then share less than 5% of
their shingles, against up to 11% with three characters; and 2% of the characters changed leave a similarity of 0.83,
against 0.75 with eight.

A signature holds 128 numbers (rensa's R-MinHash, version 2); the share of equal numbers in two signatures estimates
the Jaccard similarity of the sets with a standard deviation of at most 0.044 (0.035 at 0.8). It depends on the text
and on constants of this file alone: not on threads, the processor's instructions, batches, or the process.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from common.errors import UserError
from data.decontaminate.terms import MULTIPLIER, SHIFT_32, mix
from data.executors.imports import variables
from data.nfc import nfc

SHINGLE = 5
"""Characters in a shingle."""
PERMUTATIONS = 128
"""Numbers in a signature."""
NEAR_THRESHOLD = 0.8
"""Least share of common shingles (Jaccard similarity) at which two documents are near copies: what remains when one
character in forty is edited."""
RECALL = 0.98
"""Least chance that two documents just at the threshold share a band, and so are compared at all."""
SEED = 20_210_611
"""Seed of the permutations: any number, as long as it never changes."""
ALGORITHM = 2
"""Version of rensa's R-MinHash that the signatures are made with; another gives other numbers."""
BATCH = 4096
"""Documents whose signatures pass through Python lists at once: some 25 MB."""


def signatures(texts: list[str]) -> np.ndarray:
    """Return the MinHash signatures of documents, uint32 [len(texts), 128].

    A text of fewer than 5 characters is its own only shingle.

    Raises:
        UserError: rensa is missing, or computes other signatures than this version of Hunmin was made for.
    """
    sketch = _sketch()
    signed = np.empty((len(texts), PERMUTATIONS), np.uint32)
    for first in range(0, len(texts), BATCH):
        hashes, borders = shingle_hashes(texts[first : first + BATCH])
        with variables({"RAYON_NUM_THREADS": "1"}):  # the units already fill the cores; the signatures are the same
            matrix = sketch.digest_matrix_from_flat_token_hashes(hashes, borders, PERMUTATIONS, SEED)
        signed[first : first + BATCH] = matrix.to_rows()
    return signed


def shingle_hashes(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the 64-bit hashes of all shingles of all texts, and len(texts) + 1 borders between the texts' hashes."""
    solid = ["".join(nfc(text).split()) for text in texts]
    letters = np.frombuffer("".join(solid).encode("utf-32-le", "surrogatepass"), np.uint32)
    sizes = np.array([len(text) for text in solid], np.int64)
    borders = np.concatenate(([0], np.cumsum(np.maximum(sizes - SHINGLE, 0) + 1))).astype(np.uint64)
    return _hash_shingles(letters, sizes, int(borders[-1])), borders


def choose_bands(threshold: float) -> tuple[int, int]:
    """Return (bands, rows): the most selective division of a signature that finds like documents.

    Two documents are compared when all rows of some band are equal; at similarity s that has the chance
    1 - (1 - s^rows)^bands. More rows mean fewer vain comparisons; taken are the most rows at which the chance at the
    threshold is at least `RECALL` (0.8: 18 bands of 7 rows, 0.986).

    Args:
        threshold: Jaccard similarity, 0 < threshold <= 1.
    """
    rows = 1
    for more in range(2, PERMUTATIONS + 1):
        if 1 - (1 - threshold**more) ** (PERMUTATIONS // more) >= RECALL:
            rows = more
    return PERMUTATIONS // rows, rows


def band_keys(signed: np.ndarray, threshold: float, chosen: range | None = None) -> np.ndarray:
    """Return the keys, uint64 [bands, documents], of signatures, uint32 [documents, 128]; `chosen`: bands, None all."""
    bands, rows = choose_bands(threshold)
    chosen = chosen or range(bands)
    parts = signed[:, chosen.start * rows : chosen.stop * rows].reshape(len(signed), len(chosen), rows)
    keys = np.zeros((len(chosen), len(signed)), np.uint64)
    for row in range(rows):
        keys = (keys ^ parts[:, :, row].T) * MULTIPLIER
        keys ^= keys >> SHIFT_32
    return np.ascontiguousarray(keys)


@njit(cache=True)
def _hash_shingles(letters: np.ndarray, sizes: np.ndarray, total: int) -> np.ndarray:
    hashes = np.empty(total, np.uint64)
    at, written = 0, 0
    for size in sizes:
        width = min(size, SHINGLE)
        for start in range(at, at + size - width + 1):
            mixed = np.uint64(width)
            for place in range(start, start + width):
                mixed = mixed * MULTIPLIER + np.uint64(letters[place])
            hashes[written] = mix(mixed)
            written += 1
        at += size
    return hashes


def _sketch() -> Any:
    fix = "pip install 'rensa>=0.5,<0.6', or set corpus.deduplicate.near=false"
    try:
        from rensa import RMinHash
    except ImportError:
        raise UserError("rensa is not installed", "corpus.deduplicate.near computes signatures with it", fix) from None
    version = getattr(RMinHash, "ALGORITHM_VERSION", 1)
    if version != ALGORITHM:
        raise UserError(
            f"this rensa computes R-MinHash signatures of version {version}",
            f"the same input gives the same corpus, so signatures are of version {ALGORITHM}",
            fix,
        )
    return RMinHash
