"""The stage: every use prepared, held-out texts of all uses kept from training, rows and their table written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from common.errors import UserError
from common.files import atomic_write
from common.process import available_cores
from common.progress import ProgressBar, say
from data.benchmark import BenchmarkSentence
from data.executors.local import LocalPool
from data.instruct.compare import held_out_searcher, searchers
from data.instruct.extra import extra_files
from data.instruct.files import files_of
from data.instruct.prepare import Part, finish, prepare
from data.instruct.rows import write_rows
from data.instruct.settings import InstructSettings
from data.instruct.spec import is_open, use_of

TRAIN, HELD_OUT, TABLE, REJECTS = "train.jsonl", "held_out.jsonl", "table.json", "rejects"
"""What a finished folder holds: rows to train on, rows kept from it, the table of the uses, what was set aside."""
COUNTED = ("read", "rejected", "distinct", "contaminated", "shares_held_out", "held_out", "distinct_rows", "rows")


def instruct_files(settings: InstructSettings) -> list[str]:
    """Return the files that a build reads, sorted.

    Raises:
        UserError: an extra file is not there.
    """
    read = {name: use_of(name) for name in settings.uses}
    found = [
        files_of(name, use, settings.data)
        for name, use in read.items()
        if settings.licences == "all" or is_open(use.licence)
    ]
    return sorted({path for one in found if one for path in one[1]} | set(extra_files(settings.extra)))


def build_instructions(
    settings: InstructSettings, out: Path, tests: Mapping[str, list[BenchmarkSentence]]
) -> dict[str, Any]:
    """Return the counts of a build, with a line a use under "uses"; its rows, table and rejects are written to `out`.

    Args:
        settings: of the stage.
        out: folder to write to.
        tests: suite → the sentences that no row may hold.

    Raises:
        UserError: the data folder or all data is absent, a file is damaged or another one, or a spec does not fit.
    """
    if not Path(settings.data).expanduser().is_dir():
        raise UserError(
            f"instruct.data = {settings.data} is no folder", "it holds a folder a use", "give the folder of the data"
        )
    parts = [Part(name) for name in settings.uses]
    parts += [Part(f"extra{n}", path) for n, path in enumerate(extra_files(settings.extra), 1)]
    if not instruct_files(settings):
        raise UserError(
            f"no use has a file in {settings.data}",
            "each use has a folder of its name with its set's files: " + ", ".join(settings.uses),
            "fetch a set into its folder, or set instruct.licences=all where only those sets are there that need it",
        )
    workers = min(settings.workers or available_cores(), len(parts))
    with ProgressBar("instructions", 2 * len(parts), "uses") as bar, LocalPool(workers, __name__) as execute:

        def told(part: Part) -> None:
            bar.advance(1, part.name)

        parts = execute(partial(prepare, settings=settings, searchers=searchers(tests)), parts, told)
        texts = [text for part in parts for item in part.held_out for text in item.texts]
        parts = execute(partial(finish, settings=settings, held_out=held_out_searcher(texts)), parts, told)
    counts = _counts(parts)
    write_rows(out / TRAIN, (row for part in parts for row in part.rows))
    write_rows(out / HELD_OUT, (row for part in parts for row in part.held_out_rows))
    (out / REJECTS).mkdir(exist_ok=True)
    for part in parts:
        if part.rejects:
            with atomic_write(out / REJECTS / f"{part.name}.jsonl", "wb") as stream:
                stream.writelines(orjson.dumps(reject) + b"\n" for reject in part.rejects)
    with atomic_write(out / TABLE, "wb") as stream:
        stream.write(orjson.dumps(counts, option=orjson.OPT_INDENT_2) + b"\n")
    for line in counts["uses"]:
        if line["state"] != "built" or line.get("shortfall"):
            short = f"{line.get('shortfall', 0):,} rows short of per_use"
            say(f"{line['use']}: {line['state'] if line['state'] != 'built' else short}", style="yellow")
    if not counts["rows"]:
        raise UserError(
            "no row is left to train on", "a use has rows that are neither test sentences nor held out",
            f"see the table in {out / TABLE}",
        )  # fmt: skip
    return counts


def _counts(parts: list[Part]) -> dict[str, Any]:
    lines = [part.table for part in parts]
    by: dict[str, Counter[str]] = {}
    for line in lines:
        for suite, rules in line["contaminated_by"].items():
            by.setdefault(suite, Counter()).update(rules)
    licences = Counter(row.licence for part in parts for row in part.rows)
    return {
        **{name: sum(line.get(name, 0) for line in lines) for name in COUNTED},
        "contaminated_by": {suite: dict(sorted(rules.items())) for suite, rules in sorted(by.items())},
        "licences": dict(sorted(licences.items())),
        "uses": lines,
    }
