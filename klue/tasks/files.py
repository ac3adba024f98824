"""The benchmarks' files: Parquet as the hub has KLUE (a folder a task, files a split, labels as numbers), tab-separated
sentences with a head line (NER, DP), and tables with a line of names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import IO, Any

import pyarrow as pa

from common.bounded import load_json
from common.parquet import parquet_rows

SUFFIX = ".parquet"
HUB_SPLITS = {"train": "train", "dev": "validation"}
"""Our names of the splits → the hub's."""
NAMED = ("label", "ner_tags")
"""Columns whose numbers stand for names."""


def hub_records(stream: IO[bytes]) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file of the hub's dataset without nulls, labels' names in place of their numbers.
    Raises ValueError where it is no whole Parquet file, its labels are numbers without names, or a number has none."""
    # a column that is null is a field that the record has not
    return [
        {key: value for key, value in row.items() if value is not None} for row in rows_with_names(stream, need=NAMED)
    ]


def rows_with_names(stream: IO[bytes], need: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file, names in place of the numbers that the schema's metadata give names, as files
    of `datasets` do.

    Args:
        need: columns whose numbers must have names.

    Raises:
        ValueError: the file is damaged, a column of `need` holds numbers without names, or a number has none.
    """
    rows, schema = parquet_rows(stream)
    stored = load_json((schema.metadata or {}).get(b"huggingface", b"{}"))
    features = stored.get("info", {}).get("features", {})
    for column in schema.names:
        kind = schema.field(column).type
        if not pa.types.is_integer(getattr(kind, "value_type", kind)):
            continue
        feature = features.get(column, {})
        # of a list; `datasets` once wrote it as a list of one
        feature = feature[0] if isinstance(feature, list) else feature.get("feature", feature)
        names = feature.get("names")
        if not names and column in need:
            raise ValueError(
                f"column '{column}' holds numbers and the file does not say what they stand for, "
                "as files of `datasets` do in the schema's metadata"
            )
        for row in rows if names else []:
            if row[column] is not None:
                row[column] = _named(row[column], names, column)
    return rows


def _named(value: Any, names: list[str], column: str) -> Any:
    if isinstance(value, list):
        return [_named(item, names, column) for item in value]
    if not 0 <= value < len(names):
        raise ValueError(f"column '{column}' holds {value}, which stands for none of the {len(names)} names")
    return names[value]


def read_sentences(stream: IO[bytes], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return a file's sentences: "## guid, tab, text", then rows, a character or a word each, then an empty line.

    They are as the hub has them: `guid`, where there is one, and each of the `columns` as a list. Beside these stand
    `head_line`, the text of the line with the guid, markup and all; and `last`, where it ends the file: a file that was
    cut short is cut in this one. Lines with ## that no row follows are comments. Raises ValueError where a row
    has another number of columns, or stands before any head line.
    """
    sentences: list[dict[str, Any]] = []
    head: dict[str, str] | None = None
    for number, line in enumerate(stream.read().decode("utf-8-sig").split("\n"), start=1):
        line = line.removesuffix("\r")
        if line.startswith("##"):
            name, _, text = line.partition("\t")
            guid = name.lstrip("#").strip()
            head, begun = {"head_line": text, **({"guid": guid} if guid else {})}, False
        elif line.strip("\t"):
            row = line.split("\t")
            if len(row) != len(columns) or head is None:
                raise ValueError(f"line {number} has {len(row)} columns where a sentence's row has {len(columns)}")
            if not begun:
                sentences.append({**head, **{column: [] for column in columns}})
            for column, value in zip(columns, row, strict=True):
                sentences[-1][column].append(value)
            begun = True
        elif head and begun:
            head = None
    if sentences:
        sentences[-1]["last"] = True
    return sentences


def table_records(stream: IO[bytes]) -> list[dict[str, str]]:
    """Return the rows of a table by the names in its first line; quotes are text like any other.

    Args:
        stream: UTF-8, with or without a byte order mark; lines end at a line feed, which a carriage return may precede.

    Raises:
        ValueError: it has no rows, a name is there twice, or a row has another number of columns.
    """
    lines = stream.read().decode("utf-8-sig").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) < 2:
        raise ValueError("it has no rows below its line of names")
    names = lines[0].removesuffix("\r").split("\t")
    if len(set(names)) < len(names):
        raise ValueError("two of its columns have one name")
    records = []
    for number, line in enumerate(lines[1:], start=2):
        values = line.removesuffix("\r").split("\t")
        if len(values) != len(names):
            raise ValueError(f"line {number} has {len(values)} columns, the line of names {len(names)}")
        records.append(dict(zip(names, values, strict=True)))
    return records
