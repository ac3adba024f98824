"""Counts on the disk, in the same partitions by hash in every file: a key's sum needs one partition of each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

SCHEMA = pa.schema([pa.field("key", pa.string()), pa.field("count", pa.int64())])
_FACTS = b"facts"


class Counts:
    """The sums over a set of files, a partition at a time; may be gone through again and again."""

    def __init__(self, files: Sequence[Path], partitions: int) -> None:
        self._files, self._partitions = files, partitions

    def __iter__(self) -> Iterator[dict[str, int]]:
        return map(self.partition, range(self._partitions))

    def partition(self, number: int) -> dict[str, int]:
        """Return key → count of one partition, keys ascending."""
        total: dict[str, int] = {}
        for file in self._files:
            group = pq.ParquetFile(file).read_row_group(number, use_threads=False)
            for key, count in zip(*(column.to_pylist() for column in group.columns), strict=True):
                total[key] = total.get(key, 0) + count
        return {key: total[key] for key in sorted(total)}


def write_counts(stream: IO[bytes], counts: Mapping[str, int], partitions: int, facts: Mapping[str, Any]) -> None:
    """Write counts, whose keys hold no lone surrogate, and facts about them: a row group for each partition."""
    keys: list[list[str]] = [[] for _ in range(partitions)]
    for key in counts:
        keys[xxhash.xxh3_64_intdigest(key.encode()) % partitions].append(key)
    schema = SCHEMA.with_metadata({_FACTS: json.dumps(facts).encode()})
    with pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        for group in keys:
            table = pa.table([group, [counts[key] for key in group]], schema=schema)
            writer.write_table(table, row_group_size=max(len(group), 1))


def read_facts(path: Path) -> dict[str, Any]:
    """Return the facts of a file of counts."""
    facts: dict[str, Any] = json.loads(pq.read_schema(path).metadata[_FACTS])
    return facts
