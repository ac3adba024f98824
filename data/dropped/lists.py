"""Documents and sentences that a corpus's own lists name as left out: filtered, duplicates, of benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import xxhash

from common.stage_folders import of_run_or_itself
from data.assemble import DUPLICATES
from data.corpus import FILTERED, HITS
from data.statistics.table import load_statistics

Row = dict[str, Any]
"""An example: "kind" (cleaning, emptied, filter, duplicate, benchmark), "rule", "id", and what the kind has beside."""


def listed_examples(corpus: Path, most: int) -> list[Row]:
    """Return examples of each filter's measure, rule of duplicates, and benchmark's rule, the same ones every time.

    Args:
        corpus: a run folder, or the corpus folder in it.

    Raises:
        UserError: the folder holds no finished corpus.
    """
    load_statistics(corpus)
    folder = of_run_or_itself(corpus, "corpus")
    return [
        *_drawn(folder / FILTERED, "filter", most, lambda row: {"rule": f"{row['filter']} {row['measure']}", **row}),
        *_drawn(folder / DUPLICATES, "duplicate", most, lambda row: row),
        *_drawn(folder / HITS, "benchmark", most, lambda row: {**row, "rule": f"{row['task']} {row['rule']}"}),
    ]


def _drawn(path: Path, kind: str, most: int, row_of: Callable[[Row], Row]) -> list[Row]:
    """Return up to `most` rows of each rule, drawn by the hash of the id."""
    if not path.is_file():  # a corpus without filters has no list of theirs
        return []
    chosen: dict[str, list[tuple[int, int, Row]]] = {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines):
            row = {"kind": kind, **row_of(orjson.loads(line))}
            drawn = xxhash.xxh3_64_intdigest(row["id"].encode()), number, row
            of_rule = chosen.setdefault(row["rule"], [])
            of_rule[:] = sorted([*of_rule, drawn], key=lambda entry: entry[:2])[:most]
    return [row for rule in sorted(chosen) for _, _, row in chosen[rule]]
