"""Which document was dropped for which, of a corpus of any size: pairs of places written as pairs of ids, by groups.

groups: the ids of documents that others are copies of      (a task a group)
groups: a line for each of their documents that go          (a task a group)
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import orjson
import pyarrow as pa

from common.files import atomic_write
from data.deduplicate.equal_documents import Twins
from data.deduplicate.groups import Group, firsts_of, groups_of, ids_of, work_folder
from data.deduplicate.near import PERMUTATIONS
from data.deduplicate.near_copies import Copies
from data.deduplicate.tables import numbered
from data.executors import Executor

PAIR = np.dtype([("dropped", "<i8"), ("kept", "<i8"), ("similarity", "<f8"), ("near", "?")])
"""A document that goes and the earlier one that stays in its stead, by place."""


@dataclass(frozen=True)
class WriteNames:
    """The function of a group that writes the ids of its documents that others are copies of.

    Args:
        folder: for the files.
        firsts: place of each group's first document, and of the end, int64 [groups + 1].
        twins: documents that go as equal to an earlier one; None where those stay.
        near: documents that go as near copies; None where those stay.
    """

    folder: Path
    firsts: np.ndarray
    twins: Twins | None
    near: Copies | None

    def __call__(self, group: Group) -> None:
        """Write places and ids, places ascending, unless they are there."""
        path = numbered("names", self.folder, group.number)
        if path.exists():
            return
        wanted = [found.wanted_of_group(group.number) for found in (self.twins, self.near) if found]
        places = np.unique(np.concatenate([np.empty(0, np.int64), *wanted]))
        table = pa.table({"place": pa.array(places), "id": ids_of(group, places - self.firsts[group.number])})
        with atomic_write(path, "wb") as stream, pa.ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table)


@dataclass(frozen=True)
class WriteReport:
    """The function of a group that writes a line for each of its documents that go. Arguments as for `WriteNames`."""

    folder: Path
    firsts: np.ndarray
    twins: Twins | None
    near: Copies | None

    def __call__(self, group: Group) -> None:
        """Write the lines in order of the documents, unless they are there."""
        path = numbered("lines", self.folder, group.number)
        if path.exists():
            return
        pairs = self._pairs(group.number)
        kept = np.empty(len(pairs), object)
        for other, here in self._by_group(pairs["kept"]):
            with pa.memory_map(str(numbered("names", self.folder, other))) as source:
                names = pa.ipc.open_file(source).read_all()
                at = np.searchsorted(names.column("place").to_numpy(), pairs["kept"][here])
                kept[here] = names.column("id").take(pa.array(at)).to_pylist()
        dropped = ids_of(group, pairs["dropped"] - self.firsts[group.number]).to_pylist()
        rules = np.where(pairs["near"], "near", "documents").tolist()
        with atomic_write(path, "wb") as stream:
            write_lines(stream, zip(dropped, kept, rules, pairs["similarity"].tolist(), strict=True))

    def _pairs(self, group: int) -> np.ndarray:
        """Return the `PAIR`s of a group, by place of the dropped.

        What an equal document is a copy of may itself go as a near copy: then both stand for the one that stays.
        """
        exact, near = np.empty(0, PAIR), np.empty(0, PAIR)
        if self.twins:
            twins = self.twins.of_group(group)
            exact = np.empty(len(twins), PAIR)
            for name in ("dropped", "kept"):
                exact[name] = twins[name]
            exact["similarity"], exact["near"] = 1, False
        if self.near:
            near = as_pairs(self.near.of_group(group))
            for other, here in self._by_group(exact["kept"]):
                found = as_pairs(self.near.of_group(other))
                exact[here] = follow(exact[here], found)
        pairs = np.concatenate((exact, near))
        return pairs[np.argsort(pairs["dropped"])]

    def _by_group(self, places: np.ndarray) -> Iterable[tuple[int, np.ndarray]]:
        """Return (group, mask of the places in it) for the groups that some places are in."""
        owner = np.searchsorted(self.firsts, places, side="right") - 1
        return [(int(group), owner == group) for group in np.unique(owner)]


def as_pairs(copies: np.ndarray) -> np.ndarray:
    """Return near copies (`COPY`) as `PAIR`s."""
    pairs = np.empty(len(copies), PAIR)
    for name in ("dropped", "kept"):
        pairs[name] = copies[name]
    pairs["similarity"], pairs["near"] = copies["equal"] / PERMUTATIONS, True
    return pairs


def follow(exact: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return pairs of equal documents, with those whose `kept` is dropped as a near copy pointing to what stays.

    Args:
        exact: `PAIR`s of equal documents.
        near: `PAIR`s of near copies, `dropped` ascending; no `kept` is dropped by another.
    """
    exact = exact.copy()
    if len(near):
        at = np.minimum(np.searchsorted(near["dropped"], exact["kept"]), len(near) - 1)
        gone = near["dropped"][at] == exact["kept"]
        for name in ("similarity", "kept"):
            exact[name] = np.where(gone, near[name][at], exact[name])
    return exact


def write_report(
    path: Path,
    parts: list[Path],
    rows: np.ndarray,
    twins: Twins | None,
    near: Copies | None,
    work: Path,
    execute: Executor,
    progress: Callable[[object], None] = lambda _: None,
) -> None:
    """Write a line {"id", "kept", "rule", "similarity"} a document that goes, in input order.

    Args:
        path: gets JSON Lines.
        parts: part files in input order.
        rows: documents of each part.
        twins: documents that go as equal to an earlier one; None where those stay.
        near: documents that go as near copies; None where those stay.
        work: folder for what is half done; it is taken up again when it is of the same parts and duplicates.
        execute: runs the tasks.
        progress: called after each task.
    """
    found = [one.folder.name for one in (twins, near) if one]
    folder, groups, firsts = work_folder(work, "report", parts, *found), groups_of(parts), firsts_of(rows)
    for function in (WriteNames, WriteReport):
        execute(function(folder, firsts, twins, near), groups, progress)
    with atomic_write(path, "wb") as stream:
        for group in groups:
            with numbered("lines", folder, group.number).open("rb") as lines:
                shutil.copyfileobj(lines, stream, 1 << 20)


def write_lines(stream: IO[bytes], lines: Iterable[tuple[str, str, str, float]]) -> None:
    """Write a line {"id", "kept", "rule", "similarity"} for each (id, id of the one that stays, rule, similarity)."""
    for dropped, kept, rule, similarity in lines:
        line = {"id": dropped, "kept": kept, "rule": rule, "similarity": round(similarity, 4)}
        stream.write(orjson.dumps(line) + b"\n")
