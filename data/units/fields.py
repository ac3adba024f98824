"""Checks before any work: inputs have a format that is read, and the fields that the settings name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from common.errors import HunminError, UserError, raise_together
from common.files import HUB, is_remote, suffix_of
from data.readers.containers import ContainerError, StandInError, first_bytes, refuse_content, refuse_dangling
from data.readers.damage import DamagedInputError, UnfitInputError
from data.readers.formats import read_blocks
from data.readers.markup import MissingParserError, require_parser
from data.readers.proposal import proposed, yaml_entry
from data.readers.records import InputFile

SAMPLED_FILES, SAMPLED_BYTES = 20, 1 << 16
"""Files of an input that are looked into until one fits, and how much of each."""
_ABOUT = re.compile(r"(?:readme|licen[cs]e|notice|copying|citation|changelog|dataset_infos?|\.git\w+)(?:\..*)?", re.I)
"""Names of files that say something of a data set beside its files."""


def check_fields(files: Sequence[InputFile]) -> None:
    """Raise one UserError for all inputs in formats that are not read, or without the documents' columns or fields.

    A sample of the files tells; the error names their columns and the entry of `corpus.inputs` that reads them.
    """
    inputs: dict[int, list[InputFile]] = {}
    for file in files:
        inputs.setdefault(id(file.settings), []).append(file)
    refused = []
    for alike in inputs.values():
        try:
            _refuse_kinds(alike)
            _refuse_unfit(alike)
        except UserError as error:
            refused.append(error)
    raise_together(refused, "inputs cannot be read as the recipe says")


def _refuse_kinds(alike: Sequence[InputFile]) -> None:
    require_parser(alike[0].settings.markup)
    stand_in: StandInError | None = None
    whole = False
    for file in _by_kind(alike):
        fault = _unread(file)
        if isinstance(fault, ContainerError):
            raise UserError(fault.problem, fault.rule, fault.fix)
        if isinstance(fault, StandInError):
            stand_in = stand_in or fault
        elif not _ABOUT.fullmatch(file.path.rsplit("/", 1)[-1]):
            whole = True
    if stand_in and not whole:
        raise UserError(stand_in.problem, stand_in.rule, stand_in.fix)


def _unread(file: InputFile) -> DamagedInputError | None:
    if file.path.startswith(HUB) or is_remote(file.path):
        return None
    try:
        refuse_dangling(file.path)
        refuse_content(file.path, first_bytes(file.path))
    except DamagedInputError as error:
        return error
    return None


def _refuse_unfit(alike: Sequence[InputFile]) -> None:
    misfit: UnfitInputError | None = None
    for file in _spread(alike):
        fault = _misfit(file, propose=misfit is None)
        if fault is None:
            return
        misfit = misfit or fault
    if misfit and len(alike) > 1:
        problem = f"no file of {alike[0].settings.path} can be read as it is said: {misfit.problem}"
        raise UserError(problem, misfit.rule, misfit.fix)
    if misfit:
        raise misfit


def unfit_files(files: Sequence[InputFile]) -> list[tuple[InputFile, UnfitInputError]]:
    """Return the files without the columns or fields that hold the documents, and what is wrong with each; of the files
    of an input with the same ending up to `SAMPLED_FILES` are looked into.
    """
    return [(file, fault) for file in _by_kind(files) if (fault := _misfit(file))]


def entry_of(file: InputFile) -> str:
    """Return the entry of `corpus.inputs` by which one file is read; COLUMN stands where no column is known."""
    known = proposed(file) or file.with_settings(text_field="COLUMN").settings
    return yaml_entry(known.model_copy(update={"path": file.path}))


def _by_kind(files: Sequence[InputFile]) -> list[InputFile]:
    kinds: dict[tuple[int, str], list[InputFile]] = {}
    for file in files:
        kinds.setdefault((id(file.settings), suffix_of(file.path)), []).append(file)
    return [file for alike in kinds.values() for file in _spread(alike)]


def _spread(files: Sequence[InputFile]) -> Sequence[InputFile]:
    return files[:: -(-len(files) // SAMPLED_FILES)]


def _misfit(file: InputFile, propose: bool = False) -> UnfitInputError | None:
    try:
        list(islice(read_blocks(file, SAMPLED_BYTES), 1))
    except UnfitInputError as error:
        if propose and (settings := proposed(file)):
            error.fix = f"write this entry into corpus.inputs instead: {yaml_entry(settings)}"
        return error
    except MissingParserError:
        raise
    except (HunminError, OSError):  # whoever reads it for its documents says so
        return None
    return None
