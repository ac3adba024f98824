"""Rows of instructions: a JSON object a line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from common.bounded import UnreadableError, load_json
from common.compressed import decompression_errors
from common.errors import UserError
from common.files import atomic_write, open_bytes

TEXTS = ("id", "task", "dataset", "split", "instruction", "input", "output", "licence")


class Row(NamedTuple):
    """One instruction with its answer, which neither begins nor ends with a blank and is once among the choices."""

    id: str
    task: str
    dataset: str
    split: str
    template: int
    instruction: str
    input: str
    output: str
    choices: tuple[str, ...] | None
    licence: str

    def as_record(self) -> dict[str, Any]:
        """Return the object that stands in a file; without choices the key is left out."""
        return {name: value for name, value in self._asdict().items() if value is not None}


def row_of(record: Any) -> Row:
    """Return the row that an object stands for; raises UnreadableError, with no text of it, where it is none."""
    fields = record if isinstance(record, dict) else {}
    values: dict[str, Any] = {"template": 0, "input": "", "choices": None} | fields
    if missing := [name for name in TEXTS if not isinstance(values.get(name), str)]:
        raise UnreadableError(f"no text in field '{missing[0]}'")
    values["output"] = values["output"].strip()
    choices = values["choices"]
    if not values["output"] or not values["instruction"].strip() or not isinstance(values["template"], int):
        raise UnreadableError("an empty answer or instruction, or a template that is no number")
    if choices is not None:
        if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
            raise UnreadableError("choices is no list of texts")
        values["choices"] = choices = tuple(map(str.strip, choices))
        if len(set(choices)) < len(choices) or values["output"] not in choices:
            raise UnreadableError("two choices are equal, or none is the answer")
    return Row(*(values[name] for name in Row._fields))


def read_rows(path: str | Path) -> list[Row]:
    """Return the rows of a file that a build wrote; UserError where it is missing, damaged, or a line is no row."""
    rows: list[Row] = []
    try:
        with decompression_errors(path), open_bytes(path) as stream:
            for line in stream:
                rows.append(row_of(load_json(line)))
    except UnreadableError as error:
        raise UserError(
            f"line {len(rows) + 1} of {path} is no row of instructions: {error}",
            f"a row is an object with {', '.join(TEXTS)}",
            "build the instructions again: hunmin instruct build RECIPE",
        ) from None
    return rows


def write_rows(path: str | Path, rows: Iterable[Row]) -> None:
    """Write rows to a file, a JSON object a line; the file is replaced as a whole."""
    with atomic_write(path, "wb") as stream:
        stream.writelines(orjson.dumps(row.as_record()) + b"\n" for row in rows)
