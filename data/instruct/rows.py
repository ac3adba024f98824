"""Rows of instructions: a JSON object a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from common.compressed import decompression_errors
from common.errors import UserError
from common.files import atomic_write, open_bytes
from data.readers import UnreadableError, load_json

TEXTS = ("id", "task", "dataset", "split", "instruction", "input", "output", "licence")


class Row(NamedTuple):
    """One instruction with its answer."""

    id: str
    """Task, number of the record and template: copa-000123-2."""
    task: str
    """Name of the use."""
    dataset: str
    split: str
    """Split of the data set that it comes from."""
    template: int
    """Number of the template, from 0."""
    instruction: str
    input: str
    """May be empty."""
    output: str
    """The answer; it neither begins nor ends with a blank."""
    choices: tuple[str, ...] | None
    """All answers to choose from, the output once among them; None where the answer is free."""
    licence: str


def as_record(row: Row) -> dict[str, Any]:
    """Return a row as the object that stands in a file; without choices the key is left out."""
    return {name: value for name, value in row._asdict().items() if value is not None}


def row_of(record: Any, defaults: Mapping[str, Any] | None = None) -> Row:
    """Return the row that an object of a file stands for.

    Args:
        record: the object.
        defaults: values of fields that it may lack.

    Raises:
        ValueError: it is none; the message says why, and holds no text of it.
    """
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    values = {"template": 0, "input": "", "choices": None, **(defaults or {}), **record}
    if missing := [name for name in TEXTS if not isinstance(values.get(name), str)]:
        raise ValueError(f"no text in field '{missing[0]}'")
    output, choices = values["output"].strip(), values["choices"]
    if not output or not values["instruction"].strip():
        raise ValueError("the answer is empty" if not output else "the instruction is empty")
    if choices is not None:
        if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
            raise ValueError("choices is not a list of texts")
        choices = tuple(choice.strip() for choice in choices)
        if len(set(choices)) < len(choices):
            raise ValueError("two choices are equal")
        if output not in choices:
            raise ValueError("the answer is none of the choices")
    if not isinstance(values["template"], int):
        raise ValueError("template is not a number")
    return Row(**{**{name: values[name] for name in Row._fields}, "output": output, "choices": choices})


def read_rows(path: str | Path) -> list[Row]:
    """Return the rows of a file that a build wrote.

    Args:
        path: a file of JSON Lines; .gz, .bz2, .xz, .zst allowed.

    Raises:
        UserError: the file is missing, damaged, or a line is no row.
    """
    rows = []
    with decompression_errors(path), open_bytes(path) as stream:
        for number, line in enumerate(stream, 1):
            try:
                rows.append(row_of(load_json(line)))
            except (UnreadableError, ValueError) as error:
                raise UserError(
                    f"line {number} of {path} is no row of instructions: {error}",
                    f"a row is an object with {', '.join(TEXTS)}",
                    "build the instructions again: hunmin instruct build RECIPE",
                ) from None
    return rows


def write_rows(path: str | Path, rows: Iterable[Row]) -> None:
    """Write rows to a file, a JSON object a line; the file is replaced as a whole.

    Args:
        path: the file.
        rows: in their order.
    """
    with atomic_write(path, "wb") as stream:
        stream.writelines(orjson.dumps(as_record(row)) + b"\n" for row in rows)
