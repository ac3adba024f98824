"""A decontaminator as plain arrays, so that the cache of this user keeps it from run to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, get_type_hints

import numpy as np

from common.array_cache import Arrays, load_arrays, store_arrays
from common.code import source_hash
from common.settings import settings_hash
from data.benchmark import BenchmarkSentence
from data.decontaminate.containment import ContainmentIndex
from data.decontaminate.criteria import Rule
from data.decontaminate.embedded import EmbeddedIndex
from data.decontaminate.fragments import FragmentIndex
from data.decontaminate.hashtable import HashTable
from data.decontaminate.matcher import Decontaminator, ExactIndex

KINDS: dict[Rule, Any] = {
    "exact": ExactIndex,
    "embedded": EmbeddedIndex,
    "words": ContainmentIndex,
    "bigrams": ContainmentIndex,
    "fragment": FragmentIndex,
}


def stored_decontaminator(
    facts: Any, benchmark: Callable[[], list[BenchmarkSentence]], threads: int = 1
) -> Decontaminator:
    """Return the decontaminator of a benchmark, from the cache where it was built before.

    Args:
        facts: all that the benchmark's sentences depend on, like JSON.
        benchmark: makes them.
    """
    key = settings_hash([facts, source_hash()])
    arrays = load_arrays(key)
    if arrays is not None:
        return from_arrays(arrays)
    decontaminator = Decontaminator.build(benchmark(), threads=threads)
    store_arrays(key, to_arrays(decontaminator))
    return decontaminator


def to_arrays(decontaminator: Decontaminator) -> Arrays:
    """Return all that a decontaminator holds, by name."""
    fields = [field for record in decontaminator.records for field in record]
    arrays: dict[str, np.ndarray] = {
        "text": np.frombuffer("".join(fields).encode("utf-8", "surrogatepass"), np.uint8),
        "ends": np.cumsum(np.fromiter(map(len, fields), np.int64, len(fields))),
    }
    for rule, (first, end, index) in decontaminator.indices.items():
        arrays |= {f"{rule}.first": first, f"{rule}.end": end, **dict(_flat(rule, index))}
    return arrays


def from_arrays(arrays: Arrays) -> Decontaminator:
    """Return the decontaminator that `to_arrays` was given."""
    text = arrays["text"].tobytes().decode("utf-8", "surrogatepass")
    fields = [text[start:end] for start, end in pairwise([0, *arrays["ends"].tolist()])]
    indices = {
        rule: (arrays[f"{rule}.first"], arrays[f"{rule}.end"], _nested(rule, kind, arrays))
        for rule, kind in KINDS.items()
        if f"{rule}.first" in arrays
    }
    return Decontaminator(list(zip(fields[::3], fields[1::3], fields[2::3], strict=True)), indices)


def _flat(name: str, index: Any) -> Iterator[tuple[str, np.ndarray]]:
    for field, value in zip(index._fields, index, strict=True):
        yield from _flat(f"{name}.{field}", value) if isinstance(value, tuple) else [(f"{name}.{field}", value)]


def _nested(name: str, kind: Any, arrays: Arrays) -> Any:
    hints = get_type_hints(kind)
    names = {field: f"{name}.{field}" for field in kind._fields}
    tables = {field: _nested(names[field], HashTable, arrays) for field in names if hints[field] is HashTable}
    return kind(**{field: tables.get(field) or arrays[names[field]][()] for field in names})
