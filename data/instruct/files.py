"""Files of a use in their authors' layouts, as records: which files, and what stands in each line."""

from __future__ import annotations

import csv
import io
from codecs import BOM_UTF8
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from common.compressed import decompression_errors, without_compression
from common.errors import UserError, nearest
from common.files import expand, open_bytes, stored
from data.instruct.spec import Layout, Use
from data.readers import Reject, Skipped, UnreadableError, load_json
from data.readers.delimited import is_quoted_tsv

Entry = tuple[int, dict[str, Any]] | Reject | Skipped
"""Line (or number) and record; or why there is none."""
FIELD_CHARS = 1 << 19
"""A quoted field with more characters is one whose quote is not closed."""
SNIFF_BYTES = 1 << 20


def files_of(name: str, use: Use, data: str) -> tuple[Layout, list[str]] | None:
    """Return the layout and the sorted files of a use; None where there are none.

    Args:
        name: the use's name.
        use: its spec.
        data: folder with a folder a use.
    """
    folder = stored(Path(data).expanduser() / (use.folder or name))
    found = expand(str(folder)) if folder.is_dir() and any(folder.iterdir()) else []
    for layout in use.layouts:
        names = [
            path
            for path in found
            if any(fnmatchcase(without_compression(Path(path).name), pattern) for pattern in layout.files)
        ]
        if names:
            return layout, names
    return None


def records_of(path: str, layout: Layout, needed: list[str]) -> Iterator[Entry]:
    """Yield what stands in a file of a plain layout (all but wiki and groups).

    Args:
        path: the file; .gz, .bz2, .xz, .zst allowed.
        layout: its layout.
        needed: columns that are read.

    Raises:
        UserError: the file is damaged, is no JSON or Parquet, or its first row lacks a column.
    """
    with decompression_errors(path), open_bytes(path) as stream:
        if layout.format == "jsonl":
            yield from _json_lines(stream)
        elif layout.format == "object":
            yield from _object(path, stream.read())
        elif layout.format == "parquet":
            yield from _parquet(path, stream.read(), needed)
        else:
            yield from _table(path, stream, layout, needed)


def text_of(stream: IO[bytes], newline: str = "\n") -> io.TextIOWrapper:
    """Return a stream of UTF-8 as text, without its mark; bytes that are none stay as surrogates."""
    return io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline)


def _table(path: str, stream: IO[bytes], layout: Layout, needed: list[str]) -> Iterator[Entry]:
    quoted = layout.format == "csv" or (layout.quoted is None and _is_quoted(path))
    text = text_of(stream, "" if quoted else "\n")
    delimiter = "," if layout.format == "csv" else "\t"
    rows = _quoted(text, delimiter) if quoted else ((n, line.rstrip("\r\n").split("\t")) for n, line in enumerate(text, 1))
    names = layout.columns
    for number, row in rows:
        if isinstance(row, str):
            yield Reject(number, row)
        elif not any(map(str.strip, row)):
            continue
        elif not names:
            names = [name.strip() for name in row]
            _check_columns(path, names, needed)
        elif len(row) != len(names):
            yield Reject(number, f"{len(row)} columns instead of {len(names)}")
        else:
            yield number, dict(zip(names, row, strict=True))


def _is_quoted(path: str) -> bool:
    with open_bytes(path) as stream:
        return is_quoted_tsv(stream.read(SNIFF_BYTES).removeprefix(BOM_UTF8))


def _check_columns(path: str, names: list[str], needed: list[str]) -> None:
    missing = [name for name in needed if names.count(name) != 1]
    if missing:
        raise UserError(
            f"{path} has {names.count(missing[0]) or 'no'} column{'s' * (names.count(missing[0]) > 1)} "
            f"'{missing[0]}'{nearest(missing[0], names)}",
            f"its first row names the columns {', '.join(needed)}, each once",
            "take the file as its authors publish it",
        )


def _quoted(text: io.TextIOWrapper, delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    """Yield the line at which each row begins, and its fields or why it has none."""
    csv.field_size_limit(FIELD_CHARS)
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            yield number, next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield number, f"quotes that are not closed ({reader.line_num + 1 - number} lines)"


def _json_lines(stream: IO[bytes]) -> Iterator[Entry]:
    for number, line in enumerate(stream, 1):
        if line.strip():
            yield _record(number, line)


def _record(number: int, raw: bytes) -> Entry:
    try:
        record = load_json(raw.removeprefix(BOM_UTF8))
    except UnreadableError as error:
        return Reject(number, str(error))
    return (number, record) if isinstance(record, dict) else Reject(number, "not a JSON object")


def _object(path: str, raw: bytes) -> Iterator[Entry]:
    whole = _record(1, raw)
    if isinstance(whole, (Reject, Skipped)):
        raise UserError(f"{path} is {whole.reason}", "the file is one JSON object", "fetch the file again")
    for number, record in enumerate(whole[1].values(), 1):
        yield (number, record) if isinstance(record, dict) else Reject(number, "not a JSON object")


def _parquet(path: str, raw: bytes, needed: list[str]) -> Iterator[Entry]:
    try:
        table = pq.read_table(pa.BufferReader(raw))
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path} is a damaged Parquet file: {error}", remedy="fetch the file again") from None
    _check_columns(path, table.schema.names, needed)
    yield from enumerate(table.select(needed).to_pylist(), 1)
