"""Formats of lines: JSON Lines, a document a line, and documents separated by blank lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from data.readers.blocks import BLANK_LINE, lines_of, parts_of
from data.readers.fields import FieldMap, plain_items
from data.readers.records import Block, InputFile, Item, Reject, UnreadableError, decoded


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


_LONG_NUMBER = re.compile(rb"[0-9]{19}")
_PLAIN = frozenset((str, int, bool, type(None)))
_SURROGATE = re.compile("[\ud800-\udfff]")
TOO_DEEP, TOO_MANY = "nested too deeply", "too many values"
MOST_LEVELS = 500
"""Levels of lists and objects that Python's parser and writer of JSON are given: where they end differs by version."""
MOST_VALUES = 5_000_000
"""Values in one record of JSON; each takes up to a hundred bytes of memory for two of its own."""


def load_json(raw: bytes, exact: bool = False) -> Any:
    """Return the value of JSON; half an emoji that was cut in two becomes U+FFFD.

    Args:
        exact: whether the value is written again: integers of more than 64 bits stay what they are, and NaN, which
            no JSON holds, is refused. Else such integers become floating-point numbers, and NaN is read as Python does.

    Raises:
        UnreadableError: it is not JSON, not UTF-8, nested too deeply, or of more than `MOST_VALUES` values.
    """
    if len(raw) > MOST_VALUES and sum(map(raw.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise UnreadableError(TOO_MANY)
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _load_slowly(raw, exact)
    # plain strings and integers, which most objects are made of, need no look at the bytes
    if exact and not (type(value) is dict and _PLAIN.issuperset(map(type, value.values()))):
        return _load_slowly(raw, exact) if _LONG_NUMBER.search(raw) else value
    return value


def _load_slowly(raw: bytes, exact: bool) -> Any:
    """Return what `load_json` does, by the parser that knows integers of any length, NaN and lone surrogates."""
    text = decoded(raw)
    if too_deep(text):
        raise UnreadableError(TOO_DEEP)
    try:
        value = json.loads(text, parse_constant=_refuse if exact else float)
        if "\\ud" in text or "\\uD" in text:
            value = json.loads(_SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False)))
    except json.JSONDecodeError:
        raise UnreadableError("not JSON") from None
    except ValueError:
        raise UnreadableError("a number that is none in JSON, or of thousands of digits") from None
    return value


_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|([\[{])|[\]}]')
"""A string, which may hold brackets, or one bracket; group 1 opens."""


def too_deep(text: str) -> bool:
    """Return whether JSON has more than `MOST_LEVELS` levels."""
    if text.count("[") + text.count("{") <= MOST_LEVELS:
        return False
    level = 0
    for sign in _BRACKET.finditer(text):
        if sign[0][0] != '"':
            level += 1 if sign[1] else -1
            if level > MOST_LEVELS:
                return True
    return False


def _refuse(constant: str) -> None:
    raise ValueError(constant)


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
