"""Files that are read by range: who looks through which ranges for line numbers, and the blocks that result."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import orjson

from common.once import once_file
from common.progress import ProgressBar
from common.settings import settings_hash
from common.slurm_array import ArrayElement
from data.executors.protocol import Executor
from data.readers.formats import seekable
from data.readers.ranges import Lines, Seekable, look_through, range_blocks
from data.readers.records import Block, InputFile
from data.readers.settings import Format
from data.readers.volume import FileVersion, file_version

LOOK_BYTES = 256_000_000
"""Bytes that one task looks through, about: a fraction of a second."""


@dataclass(frozen=True)
class LookTask:
    """Ranges of a file that one task looks through.

    Args:
        version: of the file; notes on another version are not used.
        last: number of the first range after them.
    """

    number: int
    path: str
    version: FileVersion
    seekable: Seekable
    first: int
    last: int

    @property
    def name(self) -> str:
        return f"{self.path} (line ends of ranges {self.first} to {self.last})"


@dataclass(frozen=True)
class LookThrough:
    """Function of a `LookTask`; it notes its result in a file, for other elements and later commands."""

    unit_bytes: int
    folder: Path

    def __call__(self, task: LookTask) -> list[Lines]:
        if not task.version.settled:
            return self._look(task)
        facts = (task.path, task.version.facts, repr(task.seekable), self.unit_bytes, task.first, task.last)
        note = self.folder / f"lines-{settings_hash(facts)}.json"
        once_file(note, lambda stream: stream.writelines([orjson.dumps([list(line) for line in self._look(task)])]))
        return [Lines(*line) for line in orjson.loads(note.read_bytes())]

    def _look(self, task: LookTask) -> list[Lines]:
        return look_through(task.path, task.seekable, self.unit_bytes, task.first, task.last)


@dataclass(frozen=True)
class Ranged:
    """The ranges of a version of a file."""

    format: Format
    blocks: list[Block]
    version: FileVersion


def look_at(
    files: list[InputFile],
    numbers: list[int],
    unit_bytes: int,
    execute: Executor,
    folder: Path,
    element: ArrayElement | None = None,
) -> dict[int, Ranged]:
    """Return number → ranges of the files that are read by range, after the executor's workers looked through them.

    Every element of an array needs the line numbers of all ranges. Each begins at another range: elements that start
    together find each other's notes on the rest. None waits for another.
    """
    ways = {number: way for number in numbers if (way := seekable(files[number], unit_bytes)) is not None}
    versions = {number: file_version(files[number].path) for number in ways}
    step = max(1, LOOK_BYTES // unit_bytes)
    tasks = [
        LookTask(number, files[number].path, versions[number], way, first, min(first + step, way.ranges(unit_bytes)))
        for number, way in ways.items()
        for first in range(0, way.ranges(unit_bytes), step)
    ]
    if not tasks:
        return {}
    with ProgressBar("line numbers", len(tasks), "pieces") as bar:
        own = element.rank * len(tasks) // element.count if element else 0
        contents = execute(LookThrough(unit_bytes, folder), tasks[own:] + tasks[:own], lambda _: bar.advance())
        contents = contents[-own:] + contents[:-own]
    results = {}
    for number, group in groupby(zip(tasks, contents, strict=True), lambda pair: pair[0].number):
        lines = [line for _, some in group for line in some]
        results[number] = Ranged(ways[number].format, range_blocks(ways[number], lines), versions[number])
    return results
