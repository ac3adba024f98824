"""JSON from outside, read within bounds on levels and values; and JSON Lines, whose errors name the line."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from common.compressed import decompression_errors
from common.errors import UserError
from common.files import open_bytes

NOT_UTF8 = "not UTF-8"


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


_LONG_NUMBER = re.compile(rb"[0-9]{19}")
_PLAIN = frozenset((str, int, bool, type(None)))
_SURROGATE = re.compile("[\ud800-\udfff]")
TOO_DEEP, TOO_MANY = "nested too deeply", "too many values"
MOST_LEVELS = 500
"""Levels of lists and objects that Python's parser and writer of JSON are given: where they end differs by version."""
MOST_VALUES = 5_000_000
"""Values in one record of JSON; each takes up to a hundred bytes of memory for two of its own."""


def load_json(raw: bytes, exact: bool = False, place: bool = False) -> Any:
    """Return the value of JSON; half an emoji that was cut in two becomes U+FFFD.

    Args:
        exact: whether the value is written again: integers of more than 64 bits stay what they are, and NaN, which
            no JSON holds, is refused. Else such integers become floating-point numbers, and NaN is read as Python does.
        place: whether the message says from which line on it is not JSON: of a file, which is not one of many records.

    Raises:
        UnreadableError: it is not JSON, not UTF-8, nested too deeply, or of more than `MOST_VALUES` values.
    """
    if len(raw) > MOST_VALUES and sum(map(raw.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise UnreadableError(TOO_MANY)
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _load_slowly(raw, exact, place)
    # plain strings and integers, which most objects are made of, need no look at the bytes
    if exact and not (type(value) is dict and _PLAIN.issuperset(map(type, value.values()))):
        return _load_slowly(raw, exact, place) if _LONG_NUMBER.search(raw) else value
    return value


def _load_slowly(raw: bytes, exact: bool, place: bool) -> Any:
    """Return what `load_json` does, by the parser that knows integers of any length, NaN and lone surrogates."""
    text = decoded(raw)
    if too_deep(text):
        raise UnreadableError(TOO_DEEP)
    try:
        value = json.loads(text, parse_constant=_refuse if exact else float)
        if "\\ud" in text or "\\uD" in text:
            value = json.loads(_SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False)))
    except json.JSONDecodeError as error:
        raise UnreadableError("not JSON" + (f" from line {error.lineno} on" if place else "")) from None
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


def json_lines(path: str | Path, rule: str = "a line is a value of JSON") -> Iterator[tuple[int, Any]]:
    """Yield (line, value) for each line of JSON Lines, plain or compressed, that is not blank.

    Args:
        path: of the file.
        rule: what a line is, for the message.

    Raises:
        UserError: the file is missing, damaged or expands too far, or a line is no JSON; the line is named.
    """
    with decompression_errors(path), open_bytes(path) as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                try:
                    yield number, load_json(line.removeprefix(BOM_UTF8))
                except UnreadableError as error:
                    raise UserError(f"{path}, line {number}: {error}", rule, "fix the line") from None
