"""Statistics of a corpus, as Table 28 of the paper and more: what is in the shards, and where the rest went.

Counted here, shown by `data.statistics.table` and drawn by `data.statistics.plots`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from data.shards import read_shard
from data.statistics.strings import count_strings, count_words

Counters = dict[str, Any]
"""Nested counters: names → whole numbers or counters. `merge` adds two."""

BINS = {
    "sentences": (10, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000),
    "documents": (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 1_000_000),
}
"""Upper borders (characters, exclusive) of the two length histograms; one more bin each holds the rest."""


def merge(into: Counters, other: Counters) -> Counters:
    """Return `into` with every number of `other` added, changed in place."""
    for name, value in other.items():
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
    found: Counters = {"sources": {}, "lengths": {}}
    for batch in read_shard(path, ["source", "sentences"]):
        merge(found, count_documents(batch.column("source"), batch.column("sentences")))
    return found


def count_documents(sources: pa.StringArray, sentences: pa.ListArray) -> Counters:
    """Return the counts of some documents.

    Args:
        sources: the source of each document.
        sentences: the list of sentences of each document.

    Returns:
        {"sources": source → documents, sentences, words, characters, bytes;
        "lengths": "sentences" and "documents" → lower border of a bin of `BINS` (a string) → how many}.
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
        "lengths": {
            "sentences": _binned(characters, BINS["sentences"]),
            "documents": _binned(columns["characters"], BINS["documents"]),
        },
    }


def _sums(values: NDArray[np.int64], borders: NDArray[Any]) -> NDArray[np.int64]:
    """Return the sum of values[borders[n]:borders[n + 1]] for each n."""
    return np.diff(np.concatenate(([0], np.cumsum(values, dtype=np.int64)))[borders])


def _binned(lengths: NDArray[np.int64], borders: tuple[int, ...]) -> dict[str, int]:
    counts = np.bincount(np.searchsorted(borders, lengths, side="right"), minlength=len(borders) + 1)
    return dict(zip(map(str, (0, *borders)), counts.tolist(), strict=True))


def histograms(lengths: Counters) -> dict[str, list[dict[str, int | None]]]:
    """Return the length counts as lists of bins {"from", "to", "count"}, in order.

    Args:
        lengths: what `count_documents` gives under "lengths", merged over any number of shards.

    Returns:
        "sentences" and "documents" → bins, in characters; "to" is exclusive, and None in the last bin.
    """
    return {
        name: [
            {"from": low, "to": high, "count": lengths.get(name, {}).get(str(low), 0)}
            for low, high in zip((0, *borders), (*borders, None), strict=True)
        ]
        for name, borders in BINS.items()
    }
