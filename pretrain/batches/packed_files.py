"""Packed samples on disk: to pack a large corpus takes seconds, which every start of a run would pay again."""

from __future__ import annotations

import json
from pathlib import Path

from common.arrays import map_array, save_array
from common.files import atomic_write
from pretrain.batches.layouts import Groups


def write_groups(folder: Path, shard: int, layout: Groups) -> None:
    """Write the samples of a shard into `folder`; what `holds_groups` looks for comes last."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in (("pieces", layout.pieces_P2), ("first", layout.first)):
        save_array(folder / _name(shard, name), array)
    with atomic_write(folder / _name(shard, "sums")) as text:
        json.dump(layout.sums, text)


def holds_groups(folder: Path, shard: int) -> bool:
    """Return whether `write_groups` has finished a shard in `folder`."""
    return (folder / _name(shard, "sums")).exists()


def read_groups(folder: Path, shard: int) -> Groups:
    """Return what `write_groups` wrote, mapped into memory."""
    pieces, first = (map_array(folder / _name(shard, name)) for name in ("pieces", "first"))
    positions, squares = json.loads((folder / _name(shard, "sums")).read_bytes())
    return Groups(pieces, first, (positions, squares))


def _name(shard: int, part: str) -> str:
    return f"packed-{shard:05d}-{part}.{'json' if part == 'sums' else 'npy'}"
