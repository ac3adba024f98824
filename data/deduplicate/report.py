"""Which document was dropped for which: pairs of places, written as pairs of ids."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np
import orjson

from common.files import atomic_write
from data.shards import read_columns

PAIR = np.dtype([("dropped", "<i8"), ("kept", "<i8"), ("similarity", "<f8"), ("near", "?")])
"""A document that goes and the earlier one that stays in its stead, by place."""


def make_pairs(dropped: np.ndarray, kept: np.ndarray, similarity: np.ndarray | float, near: bool) -> np.ndarray:
    """Return columns as an array of `PAIR`."""
    pairs = np.empty(len(dropped), PAIR)
    pairs["dropped"], pairs["kept"], pairs["similarity"], pairs["near"] = dropped, kept, similarity, near
    return pairs


def follow(exact: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return all pairs, by place of the dropped.

    What an exact copy is a copy of may itself go as a near copy: then both stand for the one that stays.

    Args:
        exact: `PAIR`s of equal documents, in any order.
        near: `PAIR`s of near copies, `dropped` ascending; no `kept` is dropped by another.
    """
    if len(near):
        at = np.minimum(np.searchsorted(near["dropped"], exact["kept"]), len(near) - 1)
        gone = near["dropped"][at] == exact["kept"]
        for name in ("similarity", "kept"):
            exact[name] = np.where(gone, near[name][at], exact[name])
    pairs = np.concatenate((exact, near))
    return pairs[np.argsort(pairs["dropped"])]


def write_report(path: Path, parts: list[Path], borders: np.ndarray, pairs: np.ndarray) -> None:
    """Write a line {"id", "kept", "rule", "similarity"} a pair: one pass over the ids, kept ones come first.

    Args:
        path: gets JSON Lines.
        parts: part files in input order.
        borders: len(parts) + 1 places: where each part's documents begin.
        pairs: `PAIR`s, `dropped` ascending.
    """
    wanted = np.unique(pairs["kept"])
    names: list[str] = []
    with atomic_write(path, "wb") as stream:
        for part, (first, last) in zip(parts, pairwise(borders), strict=True):
            here = pairs[np.searchsorted(pairs["dropped"], first) : np.searchsorted(pairs["dropped"], last)]
            needed = wanted[np.searchsorted(wanted, first) : np.searchsorted(wanted, last)]
            if not len(here) and not len(needed):
                continue
            ids = read_columns(part, ["id"]).column("id").to_pylist()
            names += [ids[place - first] for place in needed]
            lines = zip(here, np.searchsorted(wanted, here["kept"]), strict=True)
            write_lines(
                stream,
                (
                    (
                        ids[pair["dropped"] - first],
                        names[number],
                        "near" if pair["near"] else "documents",
                        float(pair["similarity"]),
                    )
                    for pair, number in lines
                ),
            )


def write_lines(stream: IO[bytes], lines: Iterable[tuple[str, str, str, float]]) -> None:
    """Write a line {"id", "kept", "rule", "similarity"} for each (id, id of the one that stays, rule, similarity)."""
    for dropped, kept, rule, similarity in lines:
        line = {"id": dropped, "kept": kept, "rule": rule, "similarity": round(similarity, 4)}
        stream.write(orjson.dumps(line) + b"\n")
