"""Before anything begins: whether the inputs have the columns or fields that the settings name."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from common.errors import HunminError, UserError
from common.files import suffix_of
from data.readers import (
    Block,
    Format,
    InputFile,
    Reject,
    UnfitInputError,
    UnreadableError,
    load_json,
    parse_block,
    read_blocks,
)
from data.readers.blocks import lines_of
from data.readers.columns import unknown_columns
from data.readers.json_elements import elements_of
from data.readers.records import FieldMap

SAMPLED_FILES, SAMPLED_RECORDS, SAMPLED_BYTES = 20, 100, 1 << 16
"""Files of an input that are looked into until one fits, and how much of each."""


def check_fields(files: Sequence[InputFile]) -> None:
    """Refuse inputs none of whose files has the columns or fields that hold the documents; a sample of them tells.

    Raises:
        UserError: there is one; the message lists the columns that it has.
    """
    inputs: dict[int, list[InputFile]] = {}
    for file in files:
        inputs.setdefault(id(file.settings), []).append(file)
    for alike in inputs.values():
        misfit: UnfitInputError | None = None
        for file in _spread(alike):
            found = _misfit(file)
            if found is None:
                break
            misfit = misfit or found
        else:
            if misfit and len(alike) > 1:
                raise UserError(
                    f"no file of {alike[0].settings.path} can be read as it is said: {misfit.problem}",
                    misfit.rule,
                    misfit.remedy,
                )
            if misfit:
                raise misfit


def unfit_files(files: Sequence[InputFile]) -> list[tuple[InputFile, UnfitInputError]]:
    """Return the files without the columns or fields that hold the documents, and what is wrong with each; of the files
    of an input with the same ending up to `SAMPLED_FILES` are looked into.
    """
    kinds: dict[tuple[int, str], list[InputFile]] = {}
    for file in files:
        kinds.setdefault((id(file.settings), suffix_of(file.path)), []).append(file)
    sampled = [file for alike in kinds.values() for file in _spread(alike)]
    return [(file, found) for file in sampled if (found := _misfit(file))]


def _spread(files: Sequence[InputFile]) -> Sequence[InputFile]:
    """Return up to `SAMPLED_FILES` files, evenly spread."""
    return files[:: -(-len(files) // SAMPLED_FILES)]


def _misfit(file: InputFile) -> UnfitInputError | None:
    """Return what is wrong with a file's columns or fields; None where nothing is, or cannot be told now."""
    try:
        for format, block in islice(read_blocks(file, SAMPLED_BYTES), 1):
            items = list(islice(parse_block(file, format, block), SAMPLED_RECORDS))
            if items and all(isinstance(one, Reject) and one.reason.startswith("no field") for one in items):
                return _without_field(file, format, block)
    except UnfitInputError as error:
        return error
    except (HunminError, OSError):  # whoever reads it for its documents says so
        return None
    return None


def _without_field(file: InputFile, format: Format, block: Block) -> UnfitInputError | None:
    records = list(lines_of(block) if format == "jsonl" else elements_of(block))
    around = len(records) == 1 and file.settings.records_field is None
    for number_and_raw in records:
        if isinstance(number_and_raw, Reject):
            continue
        try:
            record = load_json(number_and_raw[1])
        except UnreadableError:
            continue
        if isinstance(record, dict):
            _, missing = FieldMap(file).columns(record)
            lists = {name: value for name, value in record.items() if isinstance(value, list)} if around else {}
            arrays = [name for name, value in lists.items() if dict in map(type, value[:1])]
            return unknown_columns(file, missing or file.settings.text_fields, list(record), arrays)
    return None
