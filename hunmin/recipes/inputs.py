"""The entries of `corpus.inputs` for text that a user names: a plain path where it is read as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from common.errors import UserError
from common.files import HUB, is_remote, suffix_of
from data.readers.paths import list_files
from data.readers.proposal import columns_of, proposed
from data.readers.records import InputFile
from data.readers.settings import SourceSettings

SAMPLED_FILES = 5
"""Files of an ending that are looked into."""
MOST_ENTRIES = 50
"""Files of one input that get entries of their own."""

Ask = Callable[[str, Sequence[str]], list[str]]
"""(path, its columns) → those with text; none where that is not known."""


def new_inputs(text: list[str], ask: Ask) -> list[str | SourceSettings]:
    """Return the entries of `corpus.inputs` for text that a user names.

    Args:
        text: files, folders, globs, URLs; what is not here, or is read as it is, stays a plain path.
        ask: called for a file whose columns show no text.
    """
    return [entry for path in text for entry in _entries(path, ask)]


def _entries(path: str, ask: Ask) -> list[str | SourceSettings]:
    if path.startswith(HUB) or is_remote(path):
        return [path]
    try:
        files = list_files([path])
    except UserError:  # told by the run
        return [path]
    kinds: dict[str, list[InputFile]] = {}
    for file in files:
        kinds.setdefault(suffix_of(file.path), []).append(file)
    known = {suffix: _settings(alike[:SAMPLED_FILES], ask) for suffix, alike in kinds.items()}
    [first, *others] = known.values()
    if all(settings == first for settings in others):
        return [first or path]
    if len(files) > MOST_ENTRIES:  # the dry run names those that do not fit
        return [path]
    own_settings = [(file.path, known[suffix_of(file.path)]) for file in files]
    return [settings.model_copy(update={"path": own}) if settings else own for own, settings in own_settings]


def _settings(files: Sequence[InputFile], ask: Ask) -> SourceSettings | None:
    for file in files:
        if settings := proposed(file):
            return settings
    columns = columns_of(files[0])
    names = ask(files[0].path, columns) if columns else []
    return (
        files[0].settings.model_copy(update={"text_field": names[0] if len(names) == 1 else names}) if names else None
    )
