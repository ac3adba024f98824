"""The texts of the recipe reference in a language: English from the docstrings, Korean from `recipe_reference.ko.yaml`.

The file is a list of `en` and `ko`; a text is found by its English, so that one that changes has no Korean until
somebody has read it again.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import yaml

from common.errors import UserError

KOREAN = Path(__file__).with_name("recipe_reference.ko.yaml")


class Texts:
    """What a page says, in its language; remembers what it was asked for."""

    def __init__(self, translations: dict[str, str] | None = None, file: Path = KOREAN) -> None:
        """Begin with nothing asked for.

        Args:
            translations: English → the page's language, as `read_texts` returns it; None is English itself.
            file: that they are from, for messages.
        """
        self._translations, self._file = translations, file
        self._asked: dict[str, str] = {}

    def __call__(self, english: str, of: str) -> str:
        """Return a text in the page's language; English where there is none, which `check` tells.

        Args:
            english: docstring, or word of the page; white space counts as blanks.
            of: setting or part of the page that it is of, for messages.
        """
        key = one_line(english)
        self._asked.setdefault(key, of)
        return english if self._translations is None else self._translations.get(key, english)

    def check(self) -> None:
        """Raise what is wrong with the texts, once the page has asked for all of its own.

        Raises:
            UserError: a docstring is missing, a text has no translation, or a translation is of no text.
        """
        if "" in self._asked:
            raise UserError(
                f"{self._asked['']} has no docstring",
                "the reference says of every setting what it means",
                "write one below the setting",
            )
        if self._translations is None:
            return
        missing = {key: of for key, of in self._asked.items() if not self._translations.get(key)}
        left_over = [key for key in self._translations if key not in self._asked]
        told = [self._missing(key, of, left_over) for key, of in missing.items()]
        if told:
            raise UserError(
                "\n".join(told),
                f"every text of the reference has its Korean in {self._name}, found by its English",
                f"edit {self._name}: change `en` and `ko` of the entry, or add one",
            )
        if left_over:
            raise UserError(
                "\n".join(f"of no setting: '{key}'" for key in left_over),
                f"{self._name} holds the texts of the reference and no others",
                f"delete these entries of {self._name}",
            )

    @property
    def _name(self) -> str:
        return f"scripts/{self._file.name}"

    def _missing(self, key: str, of: str, left_over: list[str]) -> str:
        near = difflib.get_close_matches(key, left_over, n=1, cutoff=0.5)
        return f"{of} has no Korean: '{key}'" + (f"\n  it was: '{near[0]}'" if near else "")


def read_texts(file: Path = KOREAN) -> dict[str, str]:
    """Return English → Korean, English as one line.

    Raises:
        UserError: the file is no list of `en` and `ko`, or holds a text twice.
    """
    try:
        entries = yaml.safe_load(file.read_text(encoding="utf-8"))
        pairs = [(one_line(entry["en"]), entry["ko"].strip()) for entry in entries]
    except (yaml.YAMLError, TypeError, KeyError, AttributeError) as error:
        raise UserError(
            f"scripts/{file.name} cannot be read: {type(error).__name__}: {error}",
            "it is a YAML list of entries with `en` and `ko`, both texts",
            f"mend scripts/{file.name}",
        ) from error
    found: dict[str, str] = {}
    for english, korean in pairs:
        if english in found:
            raise UserError(
                f"scripts/{file.name} has two entries of '{english}'",
                "a text has one translation",
                "delete one of them",
            )
        found[english] = korean
    return found


def one_line(text: str) -> str:
    """Return a text with every run of white space as one blank, none at its ends."""
    return " ".join(text.split())
