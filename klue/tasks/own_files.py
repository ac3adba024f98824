"""Rows of a user's own files: CSV and TSV as spreadsheets save them, JSON Lines, JSON, Parquet, CoNLL, SQuAD's form."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import IO, Any

from common.bounded import load_json
from common.parquet import parquet_rows
from data.readers.delimited import DELIMITERS
from data.readers.encoding import READ_BYTES, TextStream, read_full

TABLES = (".csv", ".tsv")
COLUMNS = (".conll", ".bio", ".iob", ".iob2", ".txt")
SUFFIXES = (*TABLES, ".jsonl", ".json", ".parquet", *COLUMNS)
"""Endings of the files that are read, before that of a compression."""
_COMMENT = re.compile(r"##|# \S+ = |-DOCSTART-")
"""Lines that are no token: KLUE's heads, CoNLL-U's comments, CoNLL-2003's borders of documents."""
FIELD_CHARACTERS = 1 << 24
"""Longest field of a table."""


def form_of(path: PurePath) -> str:
    """Return the ending that tells a file's form: .csv of a.csv.gz; "" where it is none of `SUFFIXES`."""
    return next((suffix.lower() for suffix in reversed(path.suffixes) if suffix.lower() in SUFFIXES), "")


def read_rows(stream: IO[bytes], form: str) -> list[dict[str, Any]]:
    """Return the rows of a file.

    Args:
        form: its ending, one of `SUFFIXES`. Files of columns give {"tokens", "tags"}, their first and last column.

    Raises:
        ValueError: the file is damaged, holds no rows, or a row does not fit.
    """
    if form == ".parquet":
        return parquet_rows(stream)[0]
    text = _decoded(stream)
    if form in TABLES:
        return _table(text, form)
    if form == ".jsonl":
        rows = [load_json(line.encode()) for line in text.split("\n") if line.strip()]
    elif form == ".json":
        rows = _json_rows(load_json(text.encode(), place=True))
    else:
        rows = list(_sentences(text))
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise ValueError(f"row {number} is no object with named fields")
    return rows


def _decoded(stream: IO[bytes]) -> str:
    text = TextStream(read_full(stream, READ_BYTES), stream, "auto")
    whole = b"".join(text)
    return whole.decode(text.encoding).removeprefix("\ufeff")


def _table(text: str, form: str) -> list[dict[str, str]]:
    csv.field_size_limit(FIELD_CHARACTERS)
    head, _, _ = text.lstrip().partition("\n")
    if separator := re.match(r'"?sep=(.)"?\s*$', head):  # a line by which spreadsheets tell each other
        text = text.lstrip().partition("\n")[2]
        delimiter = separator[1]
    else:
        bare = re.sub(r'"[^"]*"', "", head)
        delimiter = "\t" if form == ".tsv" else max(DELIMITERS, key=bare.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names, *body = [(rows.line_num, row) for row in rows if any(field.strip() for field in row)] or [(0, [])]
    except csv.Error as error:
        raise ValueError(f"line {rows.line_num}: {error}") from None
    columns = [name.strip() for name in names[1]]
    if len(set(columns)) < len(columns):
        raise ValueError("two of its columns have one name")
    for line, row in body:
        if len(row) != len(columns):
            raise ValueError(f"the row that ends in line {line} has {len(row)} fields, the first row {len(columns)}")
    return [dict(zip(columns, row, strict=True)) for _, row in body]


def _json_rows(loaded: Any) -> list[Any]:
    """Return a list of records, or SQuAD's questions, each with its passage."""
    if isinstance(loaded, dict) and isinstance(loaded.get("data"), list):
        loaded = loaded["data"]
    if not isinstance(loaded, list):
        raise ValueError('it is neither a list of records nor {"data": [...]}')
    if not loaded or not isinstance(loaded[0], dict) or "paragraphs" not in loaded[0]:
        return loaded
    return [
        {"context": paragraph["context"], **question}
        for entry in loaded
        for paragraph in entry["paragraphs"]
        for question in paragraph["qas"]
    ]


def _sentences(text: str) -> Iterator[dict[str, Any]]:
    """Yield sentences that blank lines part: a line a token, its label last; a blank or tab between the columns."""
    rows: list[Sequence[str]] = []
    width = 0
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        line = line.rstrip("\r")
        if not line.strip():
            if rows:
                yield {"tokens": [row[0] for row in rows], "tags": [row[-1] for row in rows]}
            rows = []
        elif not _COMMENT.match(line):
            # a token may be a blank: characters of a text, one a line
            row = line.split("\t") if "\t" in line else line.split()
            if len(row) < 2 or len(row) != (width := width or len(row)):
                raise ValueError(f"line {number} has {len(row)} columns where a token and its label are {width or 2}")
            rows.append(row)
