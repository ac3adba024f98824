"""Rows of a task's files: JSON Lines, JSON, CSV, Parquet, the authors' tables. One bad row is an error."""

import ast
import csv
import io
import json
import math
from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from common.bounded import json_lines, load_json
from common.errors import UserError
from common.files import open_file
from common.parquet import parquet_rows

SUFFIXES = ("jsonl", "json", "csv", "parquet")
Row = dict[str, Any]


def find_rows(data: Path, stem: str, authors: Sequence[str] = ()) -> Path | None:
    """Return STEM.* in a folder, or one of the authors' files in or below it, or None; UserError where several fit."""
    files = [path for suffix in SUFFIXES if (path := data / f"{stem}.{suffix}").is_file()]
    for depth in range(4):  # below DIR
        files = files or [path for name in authors for path in sorted(data.glob("*/" * depth + name))]
    if len(files) > 1:
        raise UserError(f"{stem}: both {files[0]} and {files[1]} are there", "a task has one file", "keep one of them")
    return files[0] if files else None


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, told by its suffix; UserError for one that is damaged or holds none."""
    try:
        with open_file(path) as stream:
            if path.suffix == ".parquet":
                rows, _ = parquet_rows(stream)
            elif path.suffix == ".jsonl":
                rows = [row for _, row in json_lines(path)]
            else:
                rows = _parse(stream.read().removeprefix(BOM_UTF8), path.suffix)
    except (OSError, ValueError, csv.Error) as error:  # the readers' errors, and those of UTF-8, are of these
        raise UserError(f"cannot read {path}: {error}", "", "fetch the file again, or fix it") from None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise UserError(f"{path} holds no rows", "a row is an object with named fields", "check the file")
    return rows


def _parse(raw: bytes, suffix: str) -> Any:
    if suffix == ".json":
        loaded = load_json(raw, place=True)
        return loaded["data"] if isinstance(loaded, dict) and "data" in loaded else loaded
    content = raw.decode()
    form: Any = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if suffix == ".tsv" else {}
    head, *body = [line for line in csv.reader(io.StringIO(content, newline=""), strict=True, **form) if line] or [[]]
    for number, line in enumerate(body, 2):
        if len(line) != len(head):
            raise ValueError(f"row {number} has {len(line)} columns, the head {len(head)}")
    return [dict(zip(head, line, strict=True)) for line in body]


def prepared(path: Path, read: Callable[[Row], Row]) -> list[Row]:
    """Return the result of a task's function for each row; UserError where it raises ValueError for one."""
    rows = []
    for number, row in enumerate(read_rows(path), 1):
        try:
            rows.append(read(row))
        except ValueError as error:
            raise UserError(f"{path}, row {number}: {error}", "every row counts", "fix the row, or the file") from None
    return rows


def text(row: Row, name: str) -> str:
    """Return the text of a field; ValueError where it is missing, empty or something else."""
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"no text in {name!r}; the row has {', '.join(map(str, row))}"[:300])
    return value


def parsed(row: Row, name: str, kind: type = list) -> Any:
    """Return a list (or dict) that may be written as JSON or as a Python literal; ValueError for anything else."""
    value = row.get(name)
    for parse in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            value = parse(value.strip()) if isinstance(value, str) else value
    if not isinstance(value, kind):
        raise ValueError(f"{name!r} is no {kind.__name__}, as JSON or as a Python literal")
    return value


def number(value: Any) -> float:
    """Return a number that may be written as text; NaN for anything else."""
    with suppress(TypeError, ValueError):
        return math.nan if isinstance(value, bool) else float(value)
    return math.nan


def one_of(value: Any, known: Row, name: str) -> Any:
    """Return the meaning of a label; ValueError for an unknown one."""
    if (key := str(value).strip()) not in known:
        raise ValueError(f"unknown label {value!r} in {name!r}; known are {', '.join(known)}")
    return known[key]


def different(choices: Any, count: int | None = None) -> list[str]:
    """Return choices as they are; ValueError where one is no text, two are equal, or their number is another."""
    if not isinstance(choices, list) or not all(isinstance(choice, str) and choice.strip() for choice in choices):
        raise ValueError("the choices are no list of texts")
    if len(choices) < 2 or (count or len(choices)) != len(choices):
        raise ValueError(f"{len(choices)} choices, not {count or 'two or more'}")
    if len({choice.strip() for choice in choices}) < len(choices):
        raise ValueError("two choices are equal")
    return choices


def answer_index(value: Any, count: int, first: int = 0) -> int:
    """Return the index of an answer, a letter or a number from `first`; ValueError for one beyond the choices."""
    letter = str(value).strip().upper()
    counted = number(value) - first
    index = ord(letter) - ord("A") if len(letter) == 1 and letter.isalpha() else counted
    if index not in range(count):
        raise ValueError(f"answer {value!r} is beyond the {count} choices, or no whole number")
    return int(index)
