"""Repeated documents, near copies, paragraphs, sentences: keys made in the units, survivors chosen in the assembly."""

from data.deduplicate.exact import keys_of
from data.deduplicate.settings import DeduplicateSettings

__all__ = ["DeduplicateSettings", "keys_of"]
