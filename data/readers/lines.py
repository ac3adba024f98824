"""Formats of lines: JSON Lines, a document a line, and documents separated by blank lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from common.bounded import UnreadableError, load_json
from data.readers.blocks import BLANK_LINE, lines_of, parts_of
from data.readers.fields import FieldMap, plain_items
from data.readers.records import Block, InputFile, Item, Reject


def parse_json_lines(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield a document or reject for each line that is not blank."""
    fields = FieldMap(file)
    for number, line in lines_of(block):
        yield from parse_object(fields, number, line)


def parse_object(fields: FieldMap, number: int, raw: bytes) -> Sequence[Item]:
    """Return the document of a JSON object with what is skipped of it, or why there is none."""
    try:
        record = load_json(raw)
    except UnreadableError as error:
        return (Reject(number, str(error)),)
    if not isinstance(record, dict):
        return (Reject(number, "not a JSON object"),)
    return fields.items(record, number)


def parse_lines(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield each line that is not blank as a document."""
    for number, line in lines_of(block):
        yield from plain_items(file, number, line)


def parse_paragraphs(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield what stands between blank lines as documents."""
    for number, body in parts_of(block, BLANK_LINE):
        yield from plain_items(file, number, body)


def is_utf8(raw: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
