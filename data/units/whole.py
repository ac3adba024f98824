"""Files that can only be read from their beginning, as one task each.

So as many of them are decompressed at once as there are workers. A file larger than half of a worker's share of them is
read by the process that hands out the units instead, and all workers get its units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from data.executors.failures import Failure, failure_of
from data.readers.damage import DamagedInputError
from data.readers.formats import read_blocks
from data.readers.records import InputFile
from data.units.work import UnitDone, UnitTask, UnitWork, part_path, unit_key


@dataclass(frozen=True)
class WholeTask:
    """All units of one file."""

    number: int
    file: InputFile
    unit_bytes: int

    @property
    def name(self) -> str:
        return self.file.path


@dataclass
class WholeDone:
    """The result of a file: the keys and sizes of its units, and what was wrong.

    Args:
        sizes: of its units, in bytes.
        bytes: of the units done now; the others were finished.
        rejects: records that hold no document, of units done now.
        damages: (path, reason) of each unit that found the file damaged.
        error: why the file was not read to its end.
    """

    number: int
    keys: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    bytes: int = 0
    rejects: int = 0
    damages: list[tuple[str, str]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    error: DamagedInputError | None = None


@dataclass(frozen=True)
class AnyWork:
    """Function of a `UnitTask` or a `WholeTask`."""

    unit: UnitWork

    def __call__(self, task: UnitTask | WholeTask) -> UnitDone | WholeDone:
        return self.unit(task) if isinstance(task, UnitTask) else self._whole(task)

    def _whole(self, task: WholeTask) -> WholeDone:
        done = WholeDone(task.number)
        try:
            for format, block in read_blocks(task.file, task.unit_bytes):
                unit = UnitTask(task.file, format, block, unit_key(task.file, format, block))
                done.keys.append(unit.key)
                done.sizes.append(block.size)
                if not part_path(self.unit.folder, unit.key).exists():
                    self._do_unit(unit, done)
        except DamagedInputError as error:
            done.error = error
        return done

    def _do_unit(self, unit: UnitTask, done: WholeDone) -> None:
        try:
            result = self.unit(unit)
        except Exception as error:  # the file's other units are done all the same
            done.failures.append(failure_of(unit.name, error))
            return
        done.bytes += result.bytes
        done.rejects += result.rejects
        done.damages += result.damages


def read_whole(sizes: Sequence[int | None], workers: int) -> set[int]:
    """Return the indices of those files that become one task each, of the sizes of files read from their beginning."""
    if workers < 2:
        return set()
    most = sum(size or 0 for size in sizes) / workers / 2
    return {place for place, size in enumerate(sizes) if size is not None and size <= most}
