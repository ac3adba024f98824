"""What readers pass on: files, blocks of a file, and the documents, rejects and skipped records in a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple
from unicodedata import normalize

from data.nfc import nfc
from data.readers.settings import SourceSettings

MAX_RECORD_BYTES = 64_000_000
"""A longer record (line, page, array element, file that is one document) is quarantined unread, so that no input can
fill a worker's memory. The longest books are under 10 MB."""
NOT_UTF8 = "not UTF-8"


@dataclass(frozen=True)
class InputFile:
    """One file to read: `label` is unique among the inputs and begins the ids made for its documents."""

    path: str
    label: str
    settings: SourceSettings


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
        encoding: of the data.
        context: what the parser must know of the file's beginning (the columns of a table).
        rejects: records that were too long to be passed on.
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


class UnreadableError(ValueError):
    """A record cannot be read; the message says why, and holds nothing of it."""


def decoded(raw: bytes) -> str:
    """Return the text of a record.

    Raises:
        UnreadableError: it is not UTF-8.
    """
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise UnreadableError(NOT_UTF8) from None


def parse_each(
    file: InputFile,
    found: Iterable[tuple[int, bytes] | Reject],
    parse: Callable[[InputFile, int, bytes], Iterator[Item]],
) -> Iterator[Item]:
    """Yield what `parse` makes of each record (its number and bytes); a reject where it raises an UnreadableError."""
    for record in found:
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


def plain_document(file: InputFile, number: int, raw: bytes) -> Document | Reject:
    """Return UTF-8 bytes as a document of a format that knows neither ids nor licences."""
    try:
        return made_document(file, number, decoded(raw))
    except UnreadableError as error:
        return Reject(number, str(error))


def made_document(file: InputFile, number: int | str, text: str) -> Document:
    """Return a text as a document with the source's own name and licence, and an id made of `number`."""
    settings = file.settings
    return Document(f"{file.label}-{number}", settings.name or file.label, settings.licence or "", text)


class FieldMap:
    """Turns records (mappings from field names to values) into documents, as a source's settings say."""

    def __init__(self, file: InputFile) -> None:
        settings = file.settings
        self._label, self._name, self._licence = file.label, settings.name, settings.licence
        self._texts = settings.text_fields
        self._single = self._texts[0] if len(self._texts) == 1 else None
        self._id, self._source, self._own_licence = settings.id_field, settings.source_field, settings.licence_field

    def columns(self, present: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the columns of a table that are needed, and the text fields that it lacks."""
        known = list(present)
        texts = [_column_of(name, known) for name in self._texts]
        missing = [name for name, column in zip(self._texts, texts, strict=True) if column is None]
        others = [_column_of(name, known) for name in (self._id, self._source, self._own_licence)]
        return [name for name in dict.fromkeys(texts + others) if name is not None], missing

    def document(self, record: Mapping[str, Any], number: int) -> Item:
        """Return a record's document, or why it has none; one whose text is null is skipped. Numbers begin with 1."""
        text = record.get(self._single) if self._single is not None else None
        if not isinstance(text, str):
            text = self._joined_text(record, number)
            if not isinstance(text, str):
                return text
        identity = self._of(record, self._id)
        if identity is None and "." in self._id:
            identity = value_at(record, self._id)
        if isinstance(identity, float) and not isfinite(identity):
            identity = None
        # a byte is at least a quarter of a character: most texts need not be counted
        if 4 * len(text) > MAX_RECORD_BYTES and len(text.encode("utf-8", "replace")) > MAX_RECORD_BYTES:
            return too_long(number)
        source = self._name or self._of(record, self._source)
        licence = self._licence or self._of(record, self._own_licence)
        return Document(
            str(identity) if isinstance(identity, (str, int, float)) and identity != "" else f"{self._label}-{number}",
            nfc(source) if isinstance(source, str) and source else self._label,
            licence if isinstance(licence, str) else "",
            text,
        )

    @staticmethod
    def _of(record: Mapping[str, Any], name: str) -> Any:
        """Return the value of a field by its whole name, None where there is none."""
        if name.isascii() or name in record:
            return record.get(name)
        value = value_at(record, name)
        return None if value is MISSING else value

    def _joined_text(self, record: Mapping[str, Any], number: int) -> str | Reject | Skipped:
        parts = []
        for name in self._texts:
            value = value_at(record, name)
            if value is MISSING:
                return Reject(number, f"no field '{name}'")
            if value is None:
                continue
            part = _joined(value)
            if part is None:
                return Reject(number, NOT_UTF8 if isinstance(value, bytes) else "text is not a string")
            parts.append(part)
        return "\n".join(filter(None, parts)) if parts else Skipped(number, "no text")


MAX_DEPTH = 8
"""Arrays nested deeper hold no text."""
MISSING = object()
"""Stands for a field that a record does not have."""


def value_at(record: Mapping[str, Any], name: str) -> Any:
    """Return the value of a field; dots lead into nested objects, through every element of an array on the way."""
    if name in record:
        return record[name]
    if not name.isascii():  # names may be decomposed, in the settings or in the records
        for form in ("NFC", "NFD"):
            if (other := normalize(form, name)) in record:
                return record[other]
    first, dot, rest = name.partition(".")
    if not dot or first not in record:
        return MISSING
    inner = record[first]
    if isinstance(inner, Mapping):
        return value_at(inner, rest)
    if isinstance(inner, list):
        found = [value_at(element, rest) for element in inner if isinstance(element, Mapping)]
        found = [value for value in found if value is not MISSING]
        return found or MISSING
    return MISSING


def _joined(value: Any, depth: int = 0) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return None
    if isinstance(value, list) and depth < MAX_DEPTH:
        parts = [_joined(element, depth + 1) for element in value]
        return None if any(part is None for part in parts) else "\n".join(part for part in parts if part)
    return None


def _column_of(name: str, known: list[str]) -> str | None:
    by_name = {normalize("NFC", column): column for column in reversed(known)}
    composed = normalize("NFC", name)
    return by_name.get(composed) or by_name.get(composed.partition(".")[0])
