"""Statistics of a corpus, as Table 28 of the paper and more: what is in the shards, and where the rest went."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.table import Table

from data.shards import read_shard

Counters = dict[str, Any]
"""Nested counters: names → whole numbers or counters. `merge` adds two."""

LENGTHS = (10, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000)
"""Upper borders (characters, exclusive) of the sentence length histogram; one more bin holds the rest."""

_SPACE = np.zeros(256, bool)
_SPACE[[9, 10, 11, 12, 13, 32]] = True


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


def text_size(texts: list[str]) -> Counters:
    """Return documents, words (eojeol), characters and bytes of UTF-8 of some texts."""
    joined = "\n".join(texts)
    return {
        "documents": len(texts),
        "words": len(joined.split()),
        "characters": sum(map(len, texts)),
        "bytes": len(joined.encode("utf-8", "surrogatepass")) - max(len(texts) - 1, 0),
    }


def shard_statistics(path: Path) -> Counters:
    """Return {"sources": source → documents, sentences, words, characters, bytes; "lengths": histogram} of a shard."""
    found: Counters = {"sources": {}, "lengths": {}}
    for batch in read_shard(path, ["source", "sentences"]):
        lists = batch.column("sentences")
        characters, words, size = _measure(lists.flatten())
        borders = lists.offsets.to_numpy() - lists.offsets[0].as_py()
        names = batch.column("source").dictionary_encode()
        document_source = names.indices.to_numpy()
        sentence_source = np.repeat(document_source, np.diff(borders))
        for index, name in enumerate(names.dictionary.to_pylist()):
            mine = sentence_source == index
            counts = {
                "documents": int((document_source == index).sum()),
                "sentences": int(mine.sum()),
                "words": int(words[mine].sum()),
                "characters": int(characters[mine].sum()),
                "bytes": int(size[mine].sum()),
            }
            merge(found["sources"].setdefault(name, {}), counts)
        bins = np.bincount(np.searchsorted(LENGTHS, characters, side="right"), minlength=len(LENGTHS) + 1)
        merge(found["lengths"], dict(zip(length_names(), bins.tolist(), strict=True)))
    return found


def length_names() -> list[str]:
    """Return the names of the histogram's bins: "0-9", "10-19", …, "1000-"."""
    lower = (0, *LENGTHS)
    return [f"{low:04d}-{high - 1:04d}" for low, high in zip(lower, LENGTHS, strict=False)] + [f"{LENGTHS[-1]:04d}-"]


def _measure(values: pa.StringArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return characters, words and bytes of each string, each int64 [len(values)]."""
    if len(values) == 0:
        empty = np.zeros(0, np.int64)
        return empty, empty, empty
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    data = np.frombuffer(values.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    borders = (offsets - offsets[0]).astype(np.int64)
    space = _SPACE[data]
    begins = ~space
    begins[1:] &= space[:-1]
    first = borders[:-1][np.diff(borders) > 0]
    begins[first] = ~space[first]
    return _between((data & 0xC0) != 0x80, borders), _between(begins, borders), np.diff(borders)


def _between(mask: np.ndarray, borders: np.ndarray) -> np.ndarray:
    return np.diff(np.concatenate(([0], np.cumsum(mask, dtype=np.int64)))[borders])


def total(sources: Counters) -> Counters:
    """Return the sum over all sources of a source → counters table."""
    summed: Counters = {}
    for counters in sources.values():
        merge(summed, counters)
    return summed


def format_statistics(statistics: Counters) -> Table:
    """Return the content of `statistics.json` as a table for the terminal."""
    table = Table(title="Corpus", title_justify="left", show_footer=False)
    for name in ("source", "documents", "sentences", "words", "characters", "MB", "MB read", "kept"):
        table.add_column(name, justify="left" if name == "source" else "right")
    rows = [*statistics["sources"].items(), ("all", statistics["total"])]
    for name, counts in rows:
        if name == "all":
            table.add_section()
        kept, read = counts["kept"], counts["read"]
        table.add_row(
            name,
            *(f"{kept.get(field, 0):,}" for field in ("documents", "sentences", "words", "characters")),
            f"{kept.get('bytes', 0) / 1e6:,.1f}",
            f"{read.get('bytes', 0) / 1e6:,.1f}",
            f"{kept.get('bytes', 0) / read['bytes']:.1%}" if read.get("bytes") else "-",
        )
    return table


def format_removals(statistics: Counters) -> Table:
    """Return what each step removed or replaced, from the content of `statistics.json`, as a table."""
    table = Table(title="Removed and replaced", title_justify="left")
    for name in ("step", "what", "count", "characters"):
        table.add_column(name, justify="left" if name in ("step", "what") else "right")
    for rule, counts in statistics["cleaning"].items():
        table.add_row("cleaning", rule, f"{counts['hits']:,}", f"{counts['characters']:,}")
    for reason, count in statistics["dropped"].items():
        table.add_row("documents dropped", reason, f"{count:,}", "")
    for kind, count in statistics["pii"].items():
        table.add_row("personal data", kind, f"{count:,}", "")
    for task, rules in statistics["decontamination"].items():
        table.add_row("benchmark", f"{task} ({', '.join(rules)})", f"{sum(rules.values()):,}", "")
    for kind, count in statistics["duplicates"].items():
        table.add_row("duplicates", kind, f"{count:,}", "")
    for reason, count in statistics["rejects"].items():
        table.add_row("rejects", reason, f"{count:,}", "")
    return table
