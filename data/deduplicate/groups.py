"""Groups of parts, what tasks that look at a whole corpus work through, and the folder of what they leave.

A group is some parts in a row; its documents are told by their row in it, or by their place in the whole corpus
(`firsts`, everywhere: what `firsts_of` returns). Every task reads and writes files of one folder, each once
(`common.once.once_file`), so a killed run resumes with the missing tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from data.shards import read_columns

GROUP_PARTS = 128
"""Parts that one task gathers: of parts of 8 MB a gigabyte of input."""


@dataclass(frozen=True)
class Group:
    """Some parts in a row, part files in input order; `number` is its place among the groups."""

    number: int
    parts: tuple[Path, ...]

    @property
    def name(self) -> str:
        return f"{self.parts[0].name} and {len(self.parts) - 1} parts after it"


@dataclass(frozen=True)
class Range:
    """A range of what a step works through: keys, keys of one band, or clusters."""

    number: int
    of: str

    @property
    def name(self) -> str:
        return f"range {self.number} of the {self.of}"


def groups_of(parts: list[Path]) -> list[Group]:
    """Return parts as groups of `GROUP_PARTS`."""
    starts = enumerate(range(0, len(parts), GROUP_PARTS))
    return [Group(number, tuple(parts[at : at + GROUP_PARTS])) for number, at in starts]


def firsts_of(rows: np.ndarray) -> np.ndarray:
    """Return the place of each group's first document, and of the end, int64 [groups + 1], from the rows of parts."""
    starts = np.concatenate(([0], np.cumsum(rows))).astype(np.int64)
    return np.append(starts[:-1:GROUP_PARTS], starts[-1])


def work_folder(work: Path, name: str, parts: list[Path], *facts: object) -> Path:
    """Return the folder, made, of tasks over parts, whose names are keys of their content, and over `facts`."""
    over = "\n".join([f"{GROUP_PARTS} {facts}", *(part.name for part in parts)])
    folder = work / f"{name}-{xxhash.xxh3_128_hexdigest(over.encode())}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def ids_of(group: Group, rows: np.ndarray) -> pa.Array:
    """Return the ids of documents of a group, by their rows in it, ascending; parts without one are not read."""
    ids = [pa.array([], pa.string())]
    first = 0
    for part in group.parts:
        count = pq.read_metadata(part).num_rows
        here = rows[np.searchsorted(rows, first) : np.searchsorted(rows, first + count)] - first
        if len(here):
            ids.append(read_columns(part, ["id"]).column("id").combine_chunks().take(pa.array(here)))
        first += count
    return pa.concat_arrays(ids)
