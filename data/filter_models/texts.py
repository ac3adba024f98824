"""The texts that models of filters are trained on: documents, cleaned as the corpus stage cleans them."""

from __future__ import annotations

from collections.abc import Iterator

from common.errors import UserError
from data.cleaning import CleanSettings, clean
from data.readers import list_files, read_documents

BLOCK_BYTES = 8_000_000
MOST_CHARACTERS = 1_000_000_000
"""More would not fit the memory of most machines, and makes no better model."""


def cleaned_texts(inputs: list[str]) -> list[str]:
    """Return the texts of all documents of some inputs that cleaning leaves anything of, each different one once.

    Raises:
        UserError: there is nothing there, or too much.
    """
    found: dict[str, None] = {}
    size = 0
    for text in _cleaned(inputs):
        if text and text not in found:
            found[text] = None
            size += len(text)
            if size > MOST_CHARACTERS:
                raise UserError(
                    f"{', '.join(inputs)} hold more than {MOST_CHARACTERS:,} characters",
                    "a model is trained on texts that fit into memory",
                    "name fewer files",
                )
    return list(found)


def _cleaned(inputs: list[str]) -> Iterator[str]:
    rules = CleanSettings()
    for file in list_files([*inputs]):
        yield from (clean(document.text, rules, {}) for document in read_documents(file, BLOCK_BYTES))
