"""Rows of a user's own files: CSV and TSV as spreadsheets save them, JSON Lines, JSON, Parquet, CoNLL, SQuAD's form."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import IO, Any

from common.bounded import UnreadableError, load_json
from common.files import HUB
from data.readers.delimited import DELIMITERS, is_quoted_tsv
from data.readers.encoding import READ_BYTES, TextStream, read_full
from klue.tasks.files import rows_with_names

TABLES = (".csv", ".tsv")
TREES = (".jsonl", ".json", ".parquet")
COLUMNS = (".conll", ".bio", ".iob", ".iob2", ".txt", ".tsv")
SUFFIXES = tuple(dict.fromkeys((*TABLES, *TREES, *COLUMNS)))
"""Endings of the files that are read, before that of a compression."""
_TAG = re.compile(r"O|[BI]-\S+")
_COMMENT = re.compile(r"# ?\S+ = |-DOCSTART-")
"""Lines that are no token whatever they end in: CoNLL-U's comments, CoNLL-2003's borders of documents."""
FIELD_CHARACTERS = 1 << 24
"""Longest field of a table."""


def form_of(path: PurePath | str) -> str:
    """Return the ending that tells a file's form: .csv of a.csv.gz; "" where it is none of `SUFFIXES`."""
    name = str(path).partition("@")[0] if str(path).startswith(HUB) else path
    return next((suffix.lower() for suffix in reversed(PurePath(name).suffixes) if suffix.lower() in SUFFIXES), "")


def read_rows(stream: IO[bytes], form: str, columns: bool = False) -> list[dict[str, Any]]:
    """Return the rows of a file.

    Args:
        form: its ending, one of `SUFFIXES`.
        columns: whether .tsv is a file of columns, too. These give {"tokens", "tags"}, their first and last column.

    Raises:
        ValueError: the file is damaged, or a row does not fit.
    """
    if form == ".parquet":
        return rows_with_names(stream)
    text = _decoded(stream)
    if form in TABLES and not columns:
        return _table(text, form)
    if form == ".jsonl":
        rows = list(_json_lines(text))
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
    try:
        return whole.decode(text.encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = whole.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line} is not {text.encoding.upper()}, which the file seems to be in") from None


def _table(text: str, form: str) -> list[dict[str, str]]:
    csv.field_size_limit(FIELD_CHARACTERS)
    head, _, _ = text.lstrip().partition("\n")
    if separator := re.match(r'"?sep=(.)"?\s*$', head):  # a line by which spreadsheets tell each other
        text = text.lstrip().partition("\n")[2]
        delimiter = separator[1]
    else:
        bare = re.sub(r'"[^"]*"', "", head)
        delimiter = "\t" if form == ".tsv" else max(DELIMITERS, key=bare.count)
    quoting = csv.QUOTE_MINIMAL if form == ".csv" or is_quoted_tsv(text[:READ_BYTES].encode()) else csv.QUOTE_NONE
    lines = io.StringIO(text, newline="")
    rows = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)  # type: ignore[arg-type]
    try:
        names, *body = [(rows.line_num, row) for row in rows if any(field.strip() for field in row)] or [(0, [])]
    except csv.Error as error:
        raise ValueError(f"line {rows.line_num}: {error}") from None
    columns = [name.strip() for name in names[1]]
    named = [name for name in columns if name]  # spreadsheets leave columns without a name behind
    if twice := next((name for name in named if named.count(name) > 1), None):
        raise ValueError(f"two of its columns are called '{twice}'")
    for line, row in body:
        if len(row) != len(columns):
            raise ValueError(f"the row that ends in line {line} has {len(row)} fields, the first row {len(columns)}")
    return [{name: field for name, field in zip(columns, row, strict=True) if name} for _, row in body]


def _json_lines(text: str) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield load_json(line.encode())
            except UnreadableError as error:
                raise ValueError(f"line {number}: {error}") from None


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
    """Yield sentences that blank lines part: a line a token, its label last; a blank or tab between the columns. A line
    that begins with # and ends in no label is a comment."""
    rows: list[Sequence[str]] = []
    width = 0
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        line = line.rstrip("\r")
        # a token may be a blank: characters of a text, one a line
        row = line.split("\t") if "\t" in line else line.split()
        if not line.strip():
            if rows:
                yield {"tokens": [row[0] for row in rows], "tags": [row[-1].strip() for row in rows]}
            rows = []
        elif not _COMMENT.match(line) and (line[0] != "#" or _TAG.fullmatch(row[-1].strip())):
            if len(row) < 2 or len(row) != (width := width or len(row)):
                raise ValueError(f"line {number} has {len(row)} columns where a token and its label are {width or 2}")
            rows.append(row)
