"""The list of dropped documents and those they copy, at any size: a task a group notes ids, then one writes lines."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np
import orjson
import pyarrow as pa

from common.files import atomic_write
from data.deduplicate.cluster import COPY
from data.deduplicate.groups import Group, firsts_of, groups_of, ids_of, work_folder
from data.deduplicate.near import PERMUTATIONS
from data.deduplicate.tables import Copies, FileOfTask, numbered
from data.executors.protocol import Executor


def write_report(
    path: Path,
    parts: list[Path],
    rows: np.ndarray,
    twins: Copies | None,
    near: Copies | None,
    work: Path,
    execute: Executor,
    progress: Callable[[object], None] | None = None,
) -> None:
    """Write a line {"id", "kept", "rule", "similarity"} a document that goes, in input order; kinds of None stay."""
    names = [copies.folder.name for copies in (twins, near) if copies]
    folder = work_folder(work, "report", parts, *names)
    groups = groups_of(parts)
    firsts = firsts_of(rows)
    execute(FileOfTask("names", folder, partial(write_names, firsts, twins, near)), groups, progress)
    execute(FileOfTask("lines", folder, partial(write_lines, folder, firsts, twins, near)), groups, progress)
    with atomic_write(path, "wb") as stream:
        for group in groups:
            with numbered("lines", folder, group.number).open("rb") as lines:
                shutil.copyfileobj(lines, stream, 1 << 20)


def write_names(firsts: np.ndarray, twins: Copies | None, near: Copies | None, group: Group, stream: IO[bytes]) -> None:
    """Write places and ids of the documents of a group that others are copies of."""
    originals = [copies.originals_of_group(group.number) for copies in (twins, near) if copies]
    places = np.unique(np.concatenate([np.empty(0, np.int64), *originals]))
    table = pa.table({"place": pa.array(places), "id": ids_of(group, places - firsts[group.number])})
    with pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)


def write_lines(
    folder: Path, firsts: np.ndarray, twins: Copies | None, near: Copies | None, group: Group, stream: IO[bytes]
) -> None:
    """Write a line for each document of a group that goes, in order; the files of names are in the folder."""
    gone, is_near = _gone(firsts, twins, near, group.number)
    kept_ids = np.empty(len(gone), object)
    for other_group, here in _by_group(firsts, gone["kept"]):
        with pa.memory_map(str(numbered("names", folder, other_group))) as source:
            names = pa.ipc.open_file(source).read_all()
            at = np.searchsorted(names.column("place").to_numpy(), gone["kept"][here])
            kept_ids[here] = names.column("id").take(pa.array(at)).to_pylist()
    dropped = ids_of(group, gone["dropped"] - firsts[group.number]).to_pylist()
    rules = np.where(is_near, "near", "documents").tolist()
    for id, other_id, rule, equal in zip(dropped, kept_ids, rules, gone["equal"].tolist(), strict=True):
        line = {"id": id, "kept": other_id, "rule": rule, "similarity": round(equal / PERMUTATIONS, 4)}
        stream.write(orjson.dumps(line) + b"\n")


def _gone(firsts: np.ndarray, twins: Copies | None, near: Copies | None, group: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the documents of a group that go, as `COPY`, `dropped` ascending, and which of them are near copies.

    What an equal document is a copy of may itself go as a near copy: then both stand for the one that stays.
    """
    exact = twins.of_group(group) if twins else np.empty(0, COPY)
    like = np.empty(0, COPY)
    if near:
        like = near.of_group(group)
        for other_group, here in _by_group(firsts, exact["kept"]):
            exact[here] = follow(exact[here], near.of_group(other_group))
    gone = np.concatenate((exact, like))
    order = np.argsort(gone["dropped"])
    return gone[order], order >= len(exact)


def _by_group(firsts: np.ndarray, places: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    owner = np.searchsorted(firsts, places, side="right") - 1
    for group in np.unique(owner).tolist():
        yield group, owner == group


def follow(exact: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return equal documents (`COPY`), with those whose `kept` goes as a near copy pointing to what stays.

    Args:
        near: `COPY`s of near copies, `dropped` ascending; no `kept` is dropped by another.
    """
    exact = exact.copy()
    if len(near):
        at = np.minimum(np.searchsorted(near["dropped"], exact["kept"]), len(near) - 1)
        gone = near["dropped"][at] == exact["kept"]
        for name in ("equal", "kept"):
            exact[name] = np.where(gone, near[name][at], exact[name])
    return exact
