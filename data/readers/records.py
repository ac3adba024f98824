"""The records of readers: files, blocks of a file, and the documents, rejects and skipped records in a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from common.bounded import UnreadableError
from data.readers.settings import SourceSettings

MAX_RECORD_BYTES = 64_000_000
"""A longer record (line, page, array element, file that is one document) is quarantined unread, so that no input can
fill a worker's memory. The longest books are under 10 MB."""


@dataclass(frozen=True)
class InputFile:
    """One file to read: `label` is unique among the inputs and begins the ids made for its documents."""

    path: str
    label: str
    settings: SourceSettings

    def with_settings(self, **changes: Any) -> InputFile:
        """Return the file with other settings."""
        return replace(self, settings=self.settings.model_copy(update=changes))


@dataclass(frozen=True)
class Reject:
    """A line or record that should hold a document and does not, and why; never its text."""

    line: int
    reason: str


@dataclass(frozen=True)
class Skipped:
    """A record that is no document by the nature of its format: a redirect, a page of another namespace."""

    line: int
    reason: str


@dataclass(frozen=True)
class Block:
    """Whole records of one file, or a reference to them; what a worker parses.

    Args:
        number: place among the file's blocks, from 0.
        first_line: number (from 1) of the first line or record in it.
        data: the records' bytes; where `bytes` is given, a reference by which a worker reads them.
        context: what the parser must know of the file's beginning (the columns of a table).
        bytes: size of what a reference stands for.
    """

    number: int
    first_line: int
    data: bytes
    encoding: str = "utf-8"
    context: tuple[str, ...] = ()
    rejects: tuple[Reject, ...] = ()
    bytes: int | None = None

    @property
    def size(self) -> int:
        """Return how many bytes of input the block stands for."""
        return len(self.data) if self.bytes is None else self.bytes


class Document(NamedTuple):
    """One text of the corpus."""

    id: str
    source: str
    licence: str
    text: str


Item = Document | Reject | Skipped


def parse_each(
    file: InputFile,
    records: Iterable[tuple[int, bytes] | Reject],
    parse: Callable[[InputFile, int, bytes], Iterator[Item]],
) -> Iterator[Item]:
    """Yield the result of `parse` of each record (its number and bytes); a reject where it raises UnreadableError."""
    for record in records:
        if isinstance(record, Reject):
            yield record
            continue
        try:
            yield from parse(file, *record)
        except UnreadableError as error:
            yield Reject(record[0], str(error))


def too_long(line: int) -> Reject:
    """Return the reject of a record longer than `MAX_RECORD_BYTES`."""
    return Reject(line, f"longer than {MAX_RECORD_BYTES / 1e6:g} MB")


def made_document(file: InputFile, number: int | str, text: str) -> Document:
    """Return a text as a document with the source's own name and licence, and an id made of `number`."""
    settings = file.settings
    return Document(f"{file.label}-{number}", settings.name or file.label, settings.licence or "", text)
