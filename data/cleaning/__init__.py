"""Cleaning, KLUE section 2.3: rules by name (`settings`), for documents and sentences (`rules`), for news (`news`)."""

from data.cleaning.old_hangul import require_old_hangul
from data.cleaning.rules import clean, clean_sentences, cleaning_steps, keep_sentences
from data.cleaning.settings import CleanSettings

__all__ = ["CleanSettings", "clean", "clean_sentences", "cleaning_steps", "keep_sentences", "require_old_hangul"]
