"""The check by its first megabyte that a file of JSON fits its source's settings, before any record is read."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from common.bounded import UnreadableError, load_json
from data.readers.blocks import lines_of
from data.readers.columns import unknown_columns
from data.readers.damage import UnfitInputError
from data.readers.encoding import READ_BYTES, TextStream, utf8_lines
from data.readers.fields import MAX_DEPTH, MISSING, joined, value_at
from data.readers.json_elements import cut_json, elements_of
from data.readers.records import Block, InputFile, Reject
from data.readers.settings import Format

SAMPLED = 50
"""Records whose fields are named."""
_QUOTE, _BACKSLASH, _COMMA = b'"\\,'


def refuse_without_field(file: InputFile, format: Format, stream: TextStream) -> None:
    """Refuse a file of jsonl or json none of whose first records has text in the fields that the settings name.

    Raises:
        UnfitInputError: it lacks them; or the array with its records.
    """
    if format not in ("jsonl", "json") or not stream.head.strip():
        return
    records: list[Mapping[str, Any]] = []
    for record in _records(file, format, stream):
        if _misfit(file, record) is None:
            return
        records.append(record)
    if not records and format == "json" and file.settings.records_field is None:
        begun = _begun(stream.head)
        records = [begun] if begun is not None and _misfit(file, begun) is not None else []
    if not records:
        return
    name = _misfit(file, records[0]) or ""
    around = records[0] if len(records) == 1 and file.settings.records_field is None else {}
    paths = [*around] or list(dict.fromkeys(path for record in records[:SAMPLED] for path in _paths(record)))
    if value_at(records[0], name) is MISSING:
        raise unknown_columns(file, [name], paths, _arrays(around))
    within = [path for path in _paths({name: value_at(records[0], name)}) if _is_text(records[:SAMPLED], path)]
    error = UnfitInputError(
        file.path,
        f"holds objects in '{name}', not text",
        f"set the source's text_field to one of {', '.join(within) or 'their fields with strings'}",
        "text_field names a field with strings; dots lead into objects, through lists of them",
    )
    error.columns = paths
    raise error


def _records(file: InputFile, format: Format, stream: TextStream) -> Iterator[Mapping[str, Any]]:
    whole = Block(0, 1, utf8_lines(stream.head, stream.encoding))
    blocks: Iterator[Block] = iter([whole])
    if format == "json":
        blocks = cut_json(file, TextStream(whole.data, io.BytesIO(), "utf-8"), READ_BYTES)
    for block in blocks:
        for element in lines_of(block) if format == "jsonl" else elements_of(replace(block, rejects=())):
            try:
                record = None if isinstance(element, Reject) else load_json(element[1])
            except UnreadableError:
                continue
            if isinstance(record, dict):
                yield record


def _begun(head: bytes) -> Mapping[str, Any] | None:
    """Return the object that a head begins and does not end, up to its last whole value; None where it is none."""
    closing: list[int] = []
    whole, closed = 0, b""
    inside = escaped = False
    for place, sign in enumerate(head):
        if inside:
            inside = escaped or sign != _QUOTE
            escaped = not escaped and sign == _BACKSLASH
        elif sign == _QUOTE:
            inside = True
        elif sign in b"{[":
            closing.append(sign + 2)  # the code of the closing bracket
        elif sign in b"}]" and closing:
            closing.pop()
        elif sign == _COMMA:
            whole, closed = place, bytes(reversed(closing))
    try:
        begun = load_json(head[:whole] + closed)
    except UnreadableError:
        return None
    return begun if isinstance(begun, dict) else None


def _misfit(file: InputFile, record: Mapping[str, Any]) -> str | None:
    for name in file.settings.text_fields:
        value = value_at(record, name)
        if value is MISSING or _first_object(value) is not None:
            return name
    return None


def _paths(record: Mapping[str, Any], depth: int = 0) -> list[str]:
    paths: list[str] = []
    for name, value in record.items():
        inner = _first_object(value) if depth < MAX_DEPTH else None
        paths += [name] if inner is None else [f"{name}.{path}" for path in _paths(inner, depth + 1)]
    return paths


def _first_object(value: Any) -> Mapping[str, Any] | None:
    while isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, Mapping) else None


def _is_text(records: Sequence[Mapping[str, Any]], path: str) -> bool:
    values = [value_at(record, path) for record in records]
    texts = [joined(value) or "" for value in values if value is not MISSING]
    return any(sign.isalpha() for text in texts for sign in text)


def _arrays(around: Mapping[str, Any]) -> list[str]:
    lists = {name: value for name, value in around.items() if isinstance(value, list)}
    return [name for name, value in lists.items() if dict in map(type, value[:1])]
