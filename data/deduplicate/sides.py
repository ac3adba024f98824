"""The keys that a unit leaves beside its part: of sentences, of paragraphs, and of whole documents for near copies.

Each is a NumPy file with the part's stem, written before the part, so a part that is there has its keys.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import numpy as np

from common.arrays import map_array, save_array
from data.deduplicate.exact import KEY, keys_of
from data.deduplicate.near import PERMUTATIONS, signatures
from data.deduplicate.settings import DeduplicateSettings

SENTENCES, PARAGRAPHS = ".sentences.npy", ".paragraphs.npy"
SIGNATURES = ".signatures.npy"
PARAGRAPH = np.dtype([("key", KEY), ("characters", "<i4"), ("sentences", "<i4")])
"""A paragraph that keeps a sentence: its key, its length, and how many of its sentences are in the part."""


class Sides:
    """Gathers the keys of a unit, batch by batch; makes only those that the settings need."""

    def __init__(self, settings: DeduplicateSettings) -> None:
        self._settings = settings
        self._gathered: dict[str, list[np.ndarray]] = {}
        if settings.sentences:
            self._gathered[SENTENCES] = [np.empty(0, KEY)]
        if settings.paragraphs:
            self._gathered[PARAGRAPHS] = [np.empty(0, PARAGRAPH)]
        if settings.near:
            self._gathered[SIGNATURES] = [np.empty((0, PERMUTATIONS), np.uint32)]

    def add(self, texts: list[str], split: list[list[str]], staying: np.ndarray) -> None:
        """Take up a batch of documents; `staying`: numbers, among all its sentences, of those that stay, ascending."""
        if not self._gathered:
            return
        flat = [sentence for sentences in split for sentence in sentences]
        sentences = [flat[number] for number in staying]
        if SENTENCES in self._gathered:
            self._gathered[SENTENCES].append(keys_of(sentences))
        if PARAGRAPHS in self._gathered:
            self._gathered[PARAGRAPHS].append(_paragraphs(texts, split, staying))
        if SIGNATURES in self._gathered:
            owner = np.repeat(np.arange(len(split)), [len(document) for document in split])[staying].tolist()
            pairs = groupby(zip(owner, sentences, strict=True), lambda pair: pair[0])
            self._gathered[SIGNATURES].append(signatures(["".join(text for _, text in group) for _, group in pairs]))

    def write(self, part: Path) -> None:
        """Write the keys beside a part file; DiskFullError where there is no space."""
        for suffix, arrays in self._gathered.items():
            save_array(part.with_suffix(suffix), np.concatenate(arrays))


def paragraph_numbers(text: str, sentences: list[str]) -> tuple[list[str], np.ndarray]:
    """Return the lines of a text that are not blank, and for each sentence the number of the line it begins in.

    Args:
        sentences: its sentences, which give back every character of it that is not white space, in order.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    ends = np.cumsum([len("".join(line.split())) for line in lines])
    sizes = np.array([len("".join(sentence.split())) for sentence in sentences], np.int64)
    return lines, np.searchsorted(ends, np.cumsum(sizes) - sizes, side="right")


def _paragraphs(texts: list[str], split: list[list[str]], staying: np.ndarray) -> np.ndarray:
    lines: list[str] = []
    numbers = [np.empty(0, np.int64)]
    for text, sentences in zip(texts, split, strict=True):
        own_lines, places = paragraph_numbers(text, sentences)
        numbers.append(places + len(lines))
        lines += own_lines
    present, counts = np.unique(np.concatenate(numbers)[staying], return_counts=True)
    chosen = [lines[number] for number in present]
    paragraphs = np.empty(len(chosen), PARAGRAPH)
    paragraphs["key"] = keys_of(chosen)
    paragraphs["sentences"] = counts
    paragraphs["characters"] = [len(line) for line in chosen]
    return paragraphs


def load_side(part: Path, suffix: str) -> np.ndarray:
    """Return the keys beside a part, mapped from the disk."""
    return map_array(part.with_suffix(suffix))
