"""The catalogue of a corpus's units: which units the inputs hold, which are finished, and where their parts are.

Resume goes by content. A unit's part is named after a hash of the unit (`data.units.work.unit_key`), so it is found
again when files came, went, changed their order or their folder, and never taken for another content. For each file an
index lists its units; while the file's version stands as it was, its units are known without reading it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from common.errors import UserError
from common.files import atomic_write, read_bytes
from common.progress import ProgressBar
from common.secrets import masked_urls
from common.settings import settings_hash
from common.slurm_array import ArrayElement
from data.executors.failures import Failures, failure_of, raise_failures
from data.executors.protocol import Executor
from data.readers.damage import DamagedInputError, UnfitInputError
from data.readers.formats import is_referred, read_blocks, seekable
from data.readers.records import Block, InputFile
from data.readers.settings import Format
from data.readers.volume import FileVersion, TextSize, file_bytes, file_version
from data.units.quarantine import Quarantine, TooManyDamagedError
from data.units.ranged import Ranged, look_at
from data.units.survey import text_of
from data.units.whole import AnyWork, WholeDone, WholeTask, read_whole
from data.units.work import UnitDone, UnitTask, UnitWork, part_path, read_as, unit_key


class Catalog:
    """The units of a list of files: all of them, or those of one element of an array.

    Units are numbered: a file's first unit has the number of the file, and where parts of the file can be read, those
    that follow have the numbers that follow. Of n elements element r has the units u with u % n == r.

    Args:
        folder: where parts and indices are; one folder for one set of settings.
        quarantine: gets the files that are damaged.
        element: element of a Slurm array whose units these are; None: all units.
    """

    def __init__(
        self,
        folder: Path,
        files: list[InputFile],
        unit_bytes: int,
        quarantine: Quarantine,
        element: ArrayElement | None = None,
    ) -> None:
        self.folder = folder
        self.files = files
        self.quarantine = quarantine
        self._element = element
        self._unit_bytes = unit_bytes
        self._keys: dict[int, list[str]] = {}
        self.finished_bytes = 0
        """Input bytes of units that were found finished."""
        self.damaged: dict[int, str] = {}
        """Number of a file that was found damaged or unfit while it was cut → the reason."""
        self._unfit: set[int] = set()
        self._ranges_known: dict[int, bool] = {}
        self._ranged: dict[int, Ranged] = {}
        self._whole: dict[int, FileVersion | None] = {}
        self._alike = Counter(id(file.settings) for file in files)

    def text_bytes(self) -> float | None:
        """Return about how many bytes of text the files, or the element's part of them, hold; None where unknown."""
        size = TextSize()
        text = 0.0
        for number, file in enumerate(self.files):
            if self._reads(number):
                estimate = text_of(file, size)
                if estimate is None:
                    return None
                text += estimate / (self._element.count if self._element and self._has_ranges(number) else 1)
        return text

    def look_at(self, execute: Executor) -> None:
        """Find the ranges of the files that are read by range, except finished ones and other elements' files."""
        asked = [n for n, file in enumerate(self.files) if self._reads(n) and not self._is_done(n, file)]
        self._ranged = look_at(self.files, asked, self._unit_bytes, execute, self.folder, self._element)
        streamed = [n for n in asked if n not in self._ranged and not is_referred(self.files[n])]
        places = read_whole([file_bytes(self.files[n].path) for n in streamed], execute.workers)
        self._whole = {streamed[place]: None for place in places}

    def _has_ranges(self, number: int) -> bool:
        if number not in self._ranges_known:
            file = self.files[number]
            self._ranges_known[number] = is_referred(file) or seekable(file, self._unit_bytes) is not None
        return self._ranges_known[number]

    def _has(self, number: int, block: int) -> bool:
        if self._element is None:
            return True
        unit = number + block if self._has_ranges(number) else number
        return unit % self._element.count == self._element.rank

    def _reads(self, number: int) -> bool:
        return self._element is None or self._has_ranges(number) or self._has(number, 0)

    def _is_done(self, number: int, file: InputFile) -> bool:
        index = self._index(file)
        version = file_version(file.path)
        if not (index and version.facts is not None and index["version"] == version.facts and index["settled"]):
            return False
        mine = [key for block, key in enumerate(index["keys"]) if self._has(number, block)]
        return all(part_path(self.folder, key).exists() for key in mine)

    def pending(self, failures: Failures) -> Iterator[UnitTask | WholeTask]:
        """Yield the units that are not finished, reading the files in order; a file that fails ends with a failure.

        Args:
            failures: gets the files that cannot be read, by name; the others continue. Damaged files end there.

        Raises:
            TooManyDamagedError: too many files are damaged.
        """
        for number, file in enumerate(self.files):
            try:
                if self._reads(number):
                    yield from self._pending_of(number, file)
            except TooManyDamagedError:
                raise
            except Exception as error:
                failures.add(failure_of(file.path, error))

    def _pending_of(self, number: int, file: InputFile) -> Iterator[UnitTask | WholeTask]:
        version = self._ranged[number].version if number in self._ranged else file_version(file.path)
        index = self._index(file)
        if index and number not in self._ranged and self._is_done(number, file):
            self._take(number, index)
            known = enumerate(index["bytes"])
            self.finished_bytes += sum(size for block, size in known if self._has(number, block))
            return
        if number in self._whole:
            self._whole[number] = version
            yield WholeTask(number, file, self._unit_bytes)
            return
        keys: list[str] = []
        sizes: list[int] = []
        for format, block in self._until_damage(number, file):
            keys.append(unit_key(file, format, block))
            sizes.append(block.size)
            if not self._has(number, block.number):
                continue
            if part_path(self.folder, keys[-1]).exists():
                self.finished_bytes += sizes[-1]
                continue
            yield UnitTask(file, format, block, keys[-1])
        self._keys[number] = keys
        self._write_index(number, version, keys, sizes)

    def take_whole(self, done: WholeDone, failures: Failures) -> None:
        """Record the result of a file that was one task."""
        number = done.number
        version = self._whole[done.number]
        assert version is not None
        for failure in done.failures:
            failures.add(failure)
        if done.error is not None:
            try:
                self._end_at_damage(number, done.error)
            except DamagedInputError as error:
                failures.add(failure_of(self.files[number].path, error))
                return
        self.finished_bytes += sum(done.sizes) - done.bytes
        self._keys[number] = done.keys
        self._write_index(number, version, done.keys, done.sizes)

    def _index_path(self, file: InputFile) -> Path:
        name = settings_hash([file.label, masked_urls(file.path).rsplit("/", 1)[-1], read_as(file), self._unit_bytes])
        return self.folder / f"file-{name}.json"

    def _index(self, file: InputFile) -> dict[str, Any] | None:
        try:
            index: dict[str, Any] = orjson.loads(read_bytes(self._index_path(file)))
        except (OSError, ValueError):
            return None
        return index

    def _write_index(self, number: int, version: FileVersion, keys: list[str], sizes: list[int]) -> None:
        file = self.files[number]
        settled = version.settled and file_version(file.path).facts == version.facts
        tree: dict[str, Any] = {"version": version.facts, "settled": settled, "keys": keys, "bytes": sizes}
        tree |= {"damage": self.damaged.get(number), "unfit": number in self._unfit}
        with atomic_write(self._index_path(file), "wb") as stream:
            stream.write(orjson.dumps(tree))

    def _take(self, number: int, index: dict[str, Any]) -> None:
        self._keys[number] = index["keys"]
        if index["damage"] is not None:
            self._damaged_at(number, index["damage"], index["unfit"])

    def _damaged_at(self, number: int, reason: str, unfit: bool) -> None:
        self.damaged[number] = reason
        if unfit:
            self._unfit.add(number)
        self.quarantine.add(self.files[number].path, reason)

    def _until_damage(self, number: int, file: InputFile) -> Iterator[tuple[Format, Block]]:
        if number in self._ranged:
            yield from ((self._ranged[number].format, block) for block in self._ranged[number].blocks)
            return
        try:
            yield from read_blocks(file, self._unit_bytes)
        except DamagedInputError as error:
            self._end_at_damage(number, error)

    def _end_at_damage(self, number: int, error: DamagedInputError) -> None:
        unfit = isinstance(error, UnfitInputError)
        if unfit and self._alike[id(self.files[number].settings)] == 1:
            raise error  # the recipe names this one file: its settings are to be fixed
        self._damaged_at(number, error.reason, unfit)

    def refuse_unfit_inputs(self) -> None:
        """Raise UserError for an input of which no file fits its settings; all files must have been read."""
        unfit = Counter(id(self.files[number].settings) for number in self._unfit)
        for number in sorted(self._unfit):
            settings = self.files[number].settings
            if unfit[id(settings)] == self._alike[id(settings)]:
                raise UserError(
                    f"no file of {settings.path} can be read as it is said: "
                    f"{self.files[number].path} {self.damaged[number]}",
                    "single files that do not fit are quarantined; of an input at least one fits its settings",
                    "fix the input's format, text_field or encoding, or take it out of the inputs",
                )

    def numbered_parts(self) -> list[tuple[int, Path]]:
        """Return the parts, each with the number of its file, in input order; all files must have been read."""
        numbers = range(len(self.files))
        return [(number, part_path(self.folder, key)) for number in numbers for key in self._keys[number]]


def do_units(catalog: Catalog, function: UnitWork, execute: Executor) -> None:
    """Do every unit of the catalogue that is not finished; HunminError where some failed, after all others are done."""
    catalog.look_at(execute)
    failures = Failures()
    size = catalog.text_bytes()
    rejects = 0
    with ProgressBar("corpus", size and size / 1e6, "MB") as bar:

        def report(done: UnitDone | WholeDone) -> None:
            nonlocal rejects
            rejects += done.rejects
            if isinstance(done, WholeDone):
                catalog.take_whole(done, failures)
            for path, reason in done.damages:
                catalog.quarantine.add(path, reason)
            finished, catalog.finished_bytes = catalog.finished_bytes, 0
            bar.skip(finished / 1e6)
            bar.advance(done.bytes / 1e6, f"{rejects:,} rejects")

        execute(AnyWork(function), catalog.pending(failures), report, failures)
        bar.skip(catalog.finished_bytes / 1e6)
    raise_failures(failures)
