"""Rows of a task's files: JSON Lines, JSON, CSV, Parquet, the authors' own layouts. One bad row is an error."""

from __future__ import annotations

import ast
import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError

SUFFIXES = ("jsonl", "json", "csv", "parquet")
"""Formats of DIR/TASK.*."""
DEPTH = 3
"""Folders below DIR at most in which an authors' layout is looked for."""

Row = dict[str, Any]
Prepare = Callable[[Row], Row]
"""Takes a row and returns what the task reads of it.

Raises:
    ValueError: the row is not one of the task's.
"""


@dataclass(frozen=True)
class Source:
    """Where the rows of a task may lie."""

    task: str
    authors: tuple[str, ...] = ()
    """Files of the authors' layout, at most `DEPTH` folders below DIR; * stands for anything."""

    @property
    def looked_for(self) -> str:
        """Return the names of the files that are looked for."""
        return ", ".join([f"{self.task}.{{{','.join(SUFFIXES)}}}", *self.authors])

    def find(self, data: Path, part: str = "") -> Path | None:
        """Return the file with the task's rows, or None.

        Args:
            data: the folder.
            part: "fewshot" for the file of shots.

        Raises:
            UserError: several files could be meant.
        """
        stem = f"{self.task}.{part}" if part else self.task
        found = [path for suffix in SUFFIXES if (path := data / f"{stem}.{suffix}").is_file()]
        for depth in range(0 if found or part else DEPTH + 1):
            found = [path for name in self.authors for path in sorted(data.glob("*/" * depth + name))]
            if found:
                break
        if len(found) > 1:
            raise UserError(
                f"{self.task}: {found[0]} and {found[1]} both fit", "a task has one file", "keep one of them in the folder"
            )
        return found[0] if found else None


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, told by its suffix.

    Raises:
        UserError: it is damaged, not UTF-8 or holds no rows.
    """
    suffix = path.suffix.lower()
    try:
        if suffix == ".parquet":
            import pyarrow.parquet

            rows = pyarrow.parquet.read_table(path).to_pylist()
        else:
            rows = _parse(path.read_text(encoding="utf-8-sig"), suffix)
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8", "", "save the file as UTF-8") from None
    except (OSError, ValueError, csv.Error) as error:  # pyarrow's errors are of these
        raise UserError(f"cannot read {path}: {error}", "", "fetch the file again, or fix it") from None
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise UserError(f"{path} holds no rows", "a row is an object with named fields", "check the file")
    return rows


def _parse(text: str, suffix: str) -> list[Row]:
    if suffix == ".json":
        loaded = json.loads(text)
        return list(loaded["data"] if isinstance(loaded, dict) and isinstance(loaded.get("data"), list) else loaded)
    if suffix == ".csv":
        return _table(csv.reader(io.StringIO(text, newline=""), strict=True))
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if suffix == ".tsv":  # quotes are text
        return _table(line.removesuffix("\r").split("\t") for _, line in lines)
    rows = []
    for number, line in lines:
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return rows


def _table(lines: Any) -> list[Row]:
    head, *body = [line for line in lines if line]
    for number, line in enumerate(body, 2):
        if len(line) != len(head):
            raise ValueError(f"row {number} has {len(line)} columns, the head {len(head)}")
    return [dict(zip(head, line, strict=True)) for line in body]


def prepared(path: Path, prepare: Prepare, unset: Row | None = None) -> list[Row]:
    """Return what a task reads of each row of a file.

    Args:
        path: the file.
        prepare: the task's function.
        unset: a field set in each row before it is prepared.

    Raises:
        UserError: a row is not one of the task's; skipping it would change n.
    """
    found = []
    for number, row in enumerate(read_rows(path), 1):
        try:
            found.append(prepare(row | (unset or {})))
        except ValueError as error:
            raise UserError(
                f"{path}, row {number}: {error}",
                "every row is scored: one that is left out changes n",
                "fix the row, or the file's columns",
            ) from None
    return found


def text(row: Row, name: str) -> str:
    """Return the text of a field; ValueError where it is missing, empty or something else."""
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"no text in {name!r}; the row has {', '.join(map(str, row))}"[:300])
    return value


def parsed(row: Row, name: str) -> Any:
    """Return a list or dict that may be written as JSON or as a Python literal; ValueError for anything else."""
    value = row.get(name)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            try:
                value = ast.literal_eval(value.strip())
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                raise ValueError(f"{name!r} is neither JSON nor a Python literal") from None
    if not isinstance(value, (list, dict)):
        raise ValueError(f"no list or dict in {name!r}")
    return value


def whole(value: Any, name: str) -> int:
    """Return a whole number that may be written as 1, 1.0, "1" or "1.0"; ValueError for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool) or number != number // 1:
        raise ValueError(f"{name} is {value!r}, not a whole number")
    return int(number)


def one_of(value: Any, known: dict[str, Any], name: str) -> Any:
    """Return what a label stands for; ValueError for an unknown one."""
    key = str(value).strip()
    if key not in known:
        raise ValueError(f"unknown label {value!r} in {name!r}; known are {', '.join(known)}")
    return known[key]


def choices(row: Row, name: str = "choices", count: int | None = None) -> list[str]:
    """Return different, non-empty choices; ValueError for anything else."""
    found = parsed(row, name)
    if not isinstance(found, list) or not all(isinstance(one, str) and one.strip() for one in found):
        raise ValueError(f"{name!r} is no list of texts")
    return different(found, count)


def different(found: list[str], count: int | None = None) -> list[str]:
    """Return choices as they are; ValueError where two are equal or their number is another."""
    if len(found) < 2 or count not in (None, len(found)):
        raise ValueError(f"{len(found)} choices where {count or 'two or more'} should be")
    if len({one.strip() for one in found}) < len(found):
        raise ValueError("two choices are equal")
    return found


def answer_index(value: Any, count: int) -> int:
    """Return the index of an answer given from 0 or as a letter from A; ValueError beyond the choices."""
    letter = str(value).strip().upper()
    index = ord(letter) - ord("A") if len(letter) == 1 and "A" <= letter <= "Z" else whole(value, "answer")
    if not 0 <= index < count:
        raise ValueError(f"answer {value!r} is beyond the {count} choices")
    return index
