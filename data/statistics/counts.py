"""Statistics of a corpus, as Table 28 of the paper and more: what is in the shards, and where the rest went."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from data.shards import read_shard


def count_strings(values: pa.StringArray) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return characters, words and bytes of each string, each int64 [len(values)]; words are as `str.split()` cuts."""
    if len(values) == 0 or values.buffers()[2] is None:
        empty = np.zeros(len(values), np.int64)
        return empty, empty, empty
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    borders = offsets.astype(np.int64)
    characters, words = _count(np.frombuffer(values.buffers()[2], np.uint8), borders)
    return characters, words, np.diff(borders)


def count_words(text: bytes) -> int:
    """Return how many words a UTF-8 text holds (lone surrogates allowed), as `str.split()` cuts."""
    if not text:
        return 0
    _, words = _count(np.frombuffer(text, np.uint8), np.array([0, len(text)], np.int64))
    return int(words[0])


@njit(cache=True, nogil=True)
def _count(data: NDArray[np.uint8], borders: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    characters = np.zeros(len(borders) - 1, np.int64)
    words = np.zeros(len(borders) - 1, np.int64)
    for n in range(len(borders) - 1):
        place = borders[n]
        end = borders[n + 1]
        inside = False
        while place < end:
            lead = data[place]
            if lead < 0x80:
                blank = lead == 32 or 9 <= lead <= 13 or 28 <= lead <= 31
                place += 1
            elif lead < 0xE0:
                blank = lead == 0xC2 and (data[place + 1] == 0x85 or data[place + 1] == 0xA0)
                place += 2
            elif lead < 0xF0:
                blank = lead <= 0xE3 and _is_wide_blank(lead, data[place + 1], data[place + 2])
                place += 3
            else:
                blank = False
                place += 4
            characters[n] += 1
            if blank:
                inside = False
            elif not inside:
                inside = True
                words[n] += 1
    return characters, words


@njit(cache=True, nogil=True, inline="always")
def _is_wide_blank(lead: int, second: int, third: int) -> bool:
    """Return whether three bytes are one of Unicode's blanks: U+1680, 2000-200A, 2028, 2029, 202F, 205F, 3000."""
    if lead == 0xE2:
        if second == 0x80:
            return third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF
        return second == 0x81 and third == 0x9F
    if lead == 0xE3:
        return second == 0x80 and third == 0x80
    return lead == 0xE1 and second == 0x9A and third == 0x80


Counters = dict[str, Any]
"""Nested counters: names → whole numbers or counters. `merge` adds two."""

BORDERS = (
    *range(1, 100),
    *(digits * scale for scale in (10, 100, 1000, 10_000) for digits in range(10, 100)),
    1_000_000,
)
"""Upper borders (characters, exclusive) of the bins in which lengths are counted; one more bin holds the rest. Bins of
one width are made of them: their first two digits count, so that widths of 1, 2 or 5 times a power of ten fit."""
MOST_BINS = 12
"""Bins of a histogram, beside the last one."""
SHOWN_SHARE = 0.95
"""Share of the texts in bins of one width; the longest ones are in the last bin."""


def merge(into: Counters, added: Counters) -> Counters:
    """Return `into` with every number of `added` added, changed in place."""
    for name, value in added.items():
        if isinstance(value, dict):
            merge(into.setdefault(name, {}), value)
        else:
            into[name] = into.get(name, 0) + value
    return into


def sort_counters(counters: Counters) -> Counters:
    """Return a copy with the names in order, at every depth."""
    return {
        name: sort_counters(value) if isinstance(value, dict) else value for name, value in sorted(counters.items())
    }


def total(sources: Counters) -> Counters:
    """Return the sum over all sources of a source → counters table."""
    summed: Counters = {}
    for counters in sources.values():
        merge(summed, counters)
    return summed


def text_size(texts: list[str]) -> Counters:
    """Return documents, words (eojeol), characters and bytes of UTF-8 of some texts."""
    joined = "\n".join(texts).encode("utf-8", "surrogatepass")
    return {
        "documents": len(texts),
        "words": count_words(joined),
        "characters": sum(map(len, texts)),
        "bytes": len(joined) - max(len(texts) - 1, 0),
    }


def shard_statistics(path: Path) -> Counters:
    """Return the counts of a shard: {"sources": see `count_documents`, "lengths": see `count_documents`}."""
    counts: Counters = {"sources": {}, "lengths": {}}
    for batch in read_shard(path, ["source", "sentences"]):
        merge(counts, count_documents(batch.column("source"), batch.column("sentences")))
    return counts


def count_documents(sources: pa.StringArray, sentences: pa.ListArray) -> Counters:
    """Return the counts of some documents.

    Returns:
        {"sources": source → documents, sentences, words, characters, bytes;
        "lengths": "sentences" and "documents" → lower border of a bin of `BORDERS` (a string) → how many, if any}.
        The length of a document is the characters of its sentences.
    """
    characters, words, size = count_strings(sentences.flatten())
    borders = sentences.offsets.to_numpy() - sentences.offsets[0].as_py()
    names = sources.dictionary_encode()
    owner = names.indices.to_numpy()
    columns = {
        "documents": np.ones(len(owner), np.int64),
        "sentences": np.diff(borders),
        "words": _sums(words, borders),
        "characters": _sums(characters, borders),
        "bytes": _sums(size, borders),
    }
    order = np.argsort(owner, kind="stable")
    first = np.searchsorted(owner[order], np.arange(len(names.dictionary) + 1))
    by_source = {field: _sums(values[order], first) for field, values in columns.items()}
    return {
        "sources": {
            name: {field: int(values[index]) for field, values in by_source.items()}
            for index, name in enumerate(names.dictionary.to_pylist())
        },
        "lengths": {"sentences": _binned(characters), "documents": _binned(columns["characters"])},
    }


def _sums(values: NDArray[np.int64], borders: NDArray[Any]) -> NDArray[np.int64]:
    return np.diff(np.concatenate(([0], np.cumsum(values, dtype=np.int64)))[borders])


def _binned(lengths: NDArray[np.int64]) -> dict[str, int]:
    counts = np.bincount(np.searchsorted(BORDERS, lengths, side="right"), minlength=len(BORDERS) + 1)
    return {str(low): count for low, count in zip((0, *BORDERS), counts.tolist(), strict=True) if count}


def histograms(lengths: Counters) -> dict[str, list[dict[str, int | None]]]:
    """Return the length counts as lists of bins {"from", "to", "count"} of one width, in order.

    Returns:
        "sentences" and "documents" → bins, in characters, at most `MOST_BINS` of one width (1, 2 or 5 times a power of
        ten) with at least `SHOWN_SHARE` of the texts; "to" is exclusive. The rest, if any, is in a last bin whose "to"
        is None.
    """
    return {name: _of_one_width(lengths.get(name, {})) for name in ("sentences", "documents")}


def _of_one_width(counts: Counters) -> list[dict[str, int | None]]:
    counted = sorted((int(low), count) for low, count in counts.items())
    sums = np.cumsum([count for _, count in counted], dtype=np.int64)
    if not len(sums) or not sums[-1]:
        return [{"from": 0, "to": None, "count": 0}]
    longest = counted[int(np.searchsorted(sums, SHOWN_SHARE * sums[-1]))][0]
    end = next((border for border in BORDERS if border > longest), BORDERS[-1])
    widths = (digit * 10**power for power in range(len(str(end))) for digit in (1, 2, 5))
    width = next(width for width in widths if width * MOST_BINS >= end)
    per_bin = [0] * (-(-end // width) + 1)
    for low, count in counted:
        per_bin[min(low // width, len(per_bin) - 1)] += count
    bins: list[dict[str, int | None]] = [
        {"from": at * width, "to": (at + 1) * width, "count": count} for at, count in enumerate(per_bin)
    ]
    return [*bins[:-1], {**bins[-1], "to": None}] if per_bin[-1] else bins[:-1]
