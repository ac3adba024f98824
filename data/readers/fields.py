"""Fields of records: which of them hold the text, id, source and licence, as a source's settings say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite, isnan, nan
from typing import Any
from unicodedata import normalize

from common.bounded import NOT_UTF8, UnreadableError, decoded
from data.nfc import nfc
from data.readers import records
from data.readers.holes import MISSING_VALUE
from data.readers.markup import require_parser, without_markup
from data.readers.records import Document, InputFile, Item, Reject, Skipped, made_document, too_long


def plain_items(file: InputFile, number: int, raw: bytes) -> Iterator[Item]:
    """Yield UTF-8 bytes as a document of a format that knows neither ids nor licences; its markup, if any, is read."""
    try:
        document = made_document(file, number, decoded(raw))
    except UnreadableError as error:
        yield Reject(number, str(error))
        return
    if file.settings.markup is None:
        yield document
        return
    read = without_markup([document.text], number, file.settings.markup)
    if isinstance(read, tuple):
        yield document._replace(text=read[0][0])
        yield from [Skipped(number, MISSING_VALUE)] * read[1]
    else:
        yield read


class FieldMap:
    """Turns records (mappings from field names to values) into documents, as a source's settings say."""

    def __init__(self, file: InputFile) -> None:
        self._label = file.label
        self._settings = file.settings
        self._texts = file.settings.text_fields
        self._single = self._texts[0] if len(self._texts) == 1 else None
        self._markup = file.settings.markup
        require_parser(self._markup)

    def columns(self, present: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the columns of a table that are needed, and the text fields and bounded columns that it lacks."""
        known = list(present)
        needed = {name: _column_of(name, known) for name in (*self._texts, *self._settings.columns)}
        settings = self._settings
        optional = (settings.id_field, settings.source_field, settings.licence_field)
        columns = dict.fromkeys([*needed.values(), *(_column_of(name, known) for name in optional)])
        return [name for name in columns if name is not None], [name for name, column in needed.items() if not column]

    def items(self, record: Mapping[str, Any], number: int) -> Sequence[Item]:
        """Return a record's document, or why it has none; one whose text is null is skipped. Numbers begin with 1.

        Where the settings say that the text holds markup, it is read, and sentences that it cannot tell are skipped.
        """
        if self._settings.columns and (beyond := self._beyond(record, number)):
            return (beyond,)
        text = record.get(self._single) if self._single is not None else None
        if isinstance(text, str) and self._markup is None:
            return (self._document(record, text, number),)
        parts = [text] if isinstance(text, str) else self._parts(record, number)
        dropped = 0
        if self._markup is not None and isinstance(parts, list):
            read = without_markup(parts, number, self._markup)
            parts, dropped = read if isinstance(read, tuple) else (read, 0)
        if not isinstance(parts, list):
            return (parts,)
        document = self._document(record, parts[0] if len(parts) == 1 else "\n".join(filter(None, parts)), number)
        return (document, *[Skipped(number, MISSING_VALUE)] * dropped)

    def _document(self, record: Mapping[str, Any], text: str, number: int) -> Item:
        settings = self._settings
        identity = self._of(record, settings.id_field)
        if identity is None and "." in settings.id_field:
            identity = value_at(record, settings.id_field)
        if isinstance(identity, float) and not isfinite(identity):
            identity = None
        limit = records.MAX_RECORD_BYTES
        # a byte is at least a quarter of a character: most texts need not be counted
        if 4 * len(text) > limit and len(text.encode("utf-8", "replace")) > limit:
            return too_long(number)
        source = settings.name or self._of(record, settings.source_field)
        licence = settings.licence or self._of(record, settings.licence_field)
        return Document(
            str(identity) if isinstance(identity, (str, int, float)) and identity != "" else f"{self._label}-{number}",
            nfc(source) if isinstance(source, str) and source else self._label,
            licence if isinstance(licence, str) else "",
            text,
        )

    def _beyond(self, record: Mapping[str, Any], number: int) -> Reject | Skipped | None:
        for name, bounds in self._settings.columns.items():
            try:
                value = float(value_at(record, name))  # tables of text hold it as text
            except (TypeError, ValueError):
                value = nan
            if isnan(value):
                return Reject(number, f"no number in '{name}'")
            if not bounds.allows(value):
                return Skipped(number, f"'{name}' beyond its bounds")
        return None

    @staticmethod
    def _of(record: Mapping[str, Any], name: str) -> Any:
        if name.isascii() or name in record:
            return record.get(name)
        value = value_at(record, name)
        return None if value is MISSING else value

    def _parts(self, record: Mapping[str, Any], number: int) -> list[str] | Reject | Skipped:
        parts = []
        for name in self._texts:
            value = value_at(record, name)
            if value is MISSING:
                return Reject(number, f"no field '{name}'")
            if value is None:
                continue
            part = joined(value)
            if part is None:
                return Reject(number, NOT_UTF8 if isinstance(value, bytes) else _no_text(name, value))
            parts.append(part)
        return parts or Skipped(number, "no text")


MAX_DEPTH = 8
"""Arrays nested deeper hold no text."""
MISSING = object()
"""Stands for a field that a record does not have."""


def value_at(record: Mapping[str, Any], name: str) -> Any:
    """Return the value of a field; dots lead into nested objects, through every element of the arrays on the way."""
    if name in record:
        return record[name]
    if not name.isascii():  # names may be decomposed, in the settings or in the records
        for form in ("NFC", "NFD"):
            if (normalized := normalize(form, name)) in record:
                return record[normalized]
    first, dot, inner_name = name.partition(".")
    return _value_in(record[first], inner_name) if dot and first in record else MISSING


def _value_in(inner: Any, name: str, depth: int = 0) -> Any:
    if isinstance(inner, Mapping):
        return value_at(inner, name)
    if isinstance(inner, list) and depth < MAX_DEPTH:
        values = [_value_in(element, name, depth + 1) for element in inner]
        return [value for value in values if value is not MISSING] or MISSING
    return MISSING


def _no_text(name: str, value: Any) -> str:
    while isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, Mapping):
        return f"text is not a string ('{name}' holds objects; a dot leads to their fields: {name}.FIELD)"
    return "text is not a string"


def joined(value: Any, depth: int = 0) -> str | None:
    """Return the strings of a field, and of lists of them, joined by line ends; None where it holds other values."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return None
    if isinstance(value, list) and depth < MAX_DEPTH:
        parts = [joined(element, depth + 1) for element in value if element is not None]
        return None if any(part is None for part in parts) else "\n".join(part for part in parts if part)
    return None


def _column_of(name: str, known: list[str]) -> str | None:
    by_name = {normalize("NFC", column): column for column in reversed(known)}
    composed = normalize("NFC", name)
    return by_name.get(composed) or by_name.get(composed.partition(".")[0])
