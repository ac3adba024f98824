"""Formats of lines: JSON Lines, a document a line, and documents separated by blank lines."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from data.readers.blocks import BLANK_LINE, lines_of, parts_of
from data.readers.records import NOT_UTF8, Block, FieldMap, InputFile, Item, Reject, plain_document


def parse_json_lines(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield a document or reject for each line that is not blank."""
    fields = FieldMap(file)
    for number, line in lines_of(block):
        yield parse_object(fields, number, line)


def parse_object(fields: FieldMap, number: int, raw: bytes) -> Item:
    """Return the document of a JSON object, or why there is none."""
    try:
        record = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return Reject(number, "not JSON" if is_utf8(raw) else NOT_UTF8)
    if not isinstance(record, dict):
        return Reject(number, "not a JSON object")
    return fields.document(record, number)


def parse_lines(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield each line that is not blank as a document."""
    for number, line in lines_of(block):
        yield plain_document(file, number, line)


def parse_paragraphs(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield what stands between blank lines as documents."""
    for number, body in parts_of(block, BLANK_LINE):
        yield plain_document(file, number, body)


def is_utf8(raw: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
