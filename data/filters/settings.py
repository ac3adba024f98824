"""One filter of a recipe: its kind, by the key that is given, and what every kind has."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from common.settings import Settings
from data.filters.language import LanguageSettings
from data.filters.length import LengthSettings
from data.filters.licence import LicenceSettings
from data.filters.repetition import RepetitionSettings
from data.filters.symbols import SymbolsSettings

KINDS = ("licence", "length", "symbols", "repetition", "language")
BARE_KINDS = tuple(kind for kind in KINDS if kind != "licence")
"""Kinds that need nothing stated."""


class FilterSettings(Settings):
    """A filter, named by its kind: `{length: {min_chars: 50}}`; `length` or `{length: }` takes its defaults."""

    name: str | None = Field(None, pattern="^[a-z][a-z0-9_]*$")
    """Name in the statistics and in the columns of scores. It is needed if one kind of filter is used twice; None takes
    the name of the kind."""
    drop: bool = True
    """Drop what the filter rejects. False only measures (for `corpus.keep_scores`) and drops nothing."""
    licence: LicenceSettings | None = None
    """By licence."""
    length: LengthSettings | None = None
    """By length of the document, its sentences and words."""
    symbols: SymbolsSettings | None = None
    """By signs, lists and lines that break off."""
    repetition: RepetitionSettings | None = None
    """By what repeats itself within the document."""
    language: LanguageSettings | None = None
    """By the share of Hangul, and of code."""

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, value: Any) -> Any:
        """Take `length` and `{length: }` for `{length: {}}`, unless the tree was dumped, with all kinds in it."""
        if isinstance(value, str):
            return {value: {}}
        if not isinstance(value, dict) or len(set(value) & set(KINDS)) != 1:
            return value
        return {key: {} if key in KINDS and settings is None else settings for key, settings in value.items()}

    @model_validator(mode="after")
    def _one_kind(self) -> FilterSettings:
        kinds = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise ValueError(f"a filter is one of {', '.join(KINDS)}, not {' and '.join(kinds) or 'none of them'}")
        return self

    @property
    def kind(self) -> str:
        """Return the name of the one kind that is set."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def title(self) -> str:
        """Return the filter's name in the statistics."""
        return self.name or self.kind
