"""Finished rows of a user's own files: JSON Lines of rows, or CSV as KIT-19 was released."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from common.errors import UserError
from common.files import expand, stem, suffix_of
from data.instruct.files import records_of
from data.instruct.rows import Row, row_of
from data.instruct.spec import Layout
from data.nfc import nfc
from data.readers import Reject, Skipped

COLUMNS = ["task", "instruction", "input", "output"]
"""Of the CSV file."""
UNCLEAR = "unclear: none stated"
"""Licence of rows that name none; a licence of the whole file cannot override those of the sets in it."""


def extra_files(patterns: list[str]) -> list[str]:
    """Return the files that extra paths, folders and globs stand for.

    Raises:
        UserError: nothing is there, or a file is neither JSON Lines nor CSV.
    """
    files = list(dict.fromkeys(path for pattern in patterns for path in expand(pattern)))
    if wrong := [path for path in files if suffix_of(path) not in (".jsonl", ".csv")]:
        raise UserError(
            f"{wrong[0]} is neither .jsonl nor .csv",
            "instruct.extra names JSON Lines of rows, or CSV with the columns " + ", ".join(COLUMNS),
            "convert the file, or take it out of instruct.extra",
        )
    return files


def extra_rows(path: str, name: str) -> Iterator[tuple[int, Row] | Reject | Skipped]:
    """Yield line and row of what stands in a file; or why there is none.

    Args:
        path: the file.
        name: what the rows' ids begin with.
    """
    layout = Layout(format="csv" if suffix_of(path) == ".csv" else "jsonl", files=[])
    defaults = {"task": "extra", "dataset": stem(path), "split": "extra", "licence": UNCLEAR}
    for number, entry in enumerate(records_of(path, layout, COLUMNS), 1):
        if isinstance(entry, (Reject, Skipped)):
            yield entry
            continue
        line, record = entry
        given = {key: _composed(value) for key, value in record.items() if value not in (None, "")}
        if "instruction" not in given:  # KIT-19 has rows whose input is all there is
            given["instruction"] = given.pop("input", "")
        try:
            yield line, row_of(given, defaults | {"id": ""})._replace(id=f"{name}-{number:06d}-0")
        except ValueError as error:
            yield Reject(line, str(error))


def _composed(value: Any) -> Any:
    return nfc(value.encode("utf-8", "replace").decode()).replace("\r\n", "\n") if isinstance(value, str) else value
