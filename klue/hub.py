"""The benchmark as the hub keeps it, the dataset `klue`: a folder a task, Parquet files a split, labels as numbers."""

from __future__ import annotations

from collections.abc import Collection
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
