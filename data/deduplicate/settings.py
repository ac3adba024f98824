"""Which repeated texts are dropped."""

from __future__ import annotations

from pydantic import Field

from common.settings import Settings


class DeduplicateSettings(Settings):
    """Which repeated texts are dropped. Of equal or like texts the first in input order stays, always."""

    documents: bool = True
    """Drop documents equal to an earlier one (Unicode NFC, runs of white space as one)."""
    near: bool = False
    """Drop near copies of an earlier document that is kept: the same page with another date, a quoted copy, an edited
    reprint. They have 80% of the runs of five characters in common; so much remains if one in forty is edited. Off
    by default, because the KLUE paper does not do it. Turn it on for crawled text (web, news). It takes time (see
    `scripts/bench_corpus.py`) and, while the stage runs, about 1,300 bytes of disk per document."""
    paragraphs: bool = False
    """Drop paragraphs (lines of the cleaned document) of 50 characters and more equal to an earlier one anywhere in the
    corpus. Off by default: the paper keeps them. Turn it on to remove what the pages of one site share."""
    sentences: bool = False
    """Drop sentences equal to an earlier one anywhere in the corpus. Off by default: the paper keeps them, and in
    running text a repeated short answer is not noise."""
    min_sentence_chars: int = Field(20, ge=1)
    """Shorter sentences (characters) are never dropped as duplicates."""
