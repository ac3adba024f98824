"""Which repeated texts are dropped."""

from __future__ import annotations

from pydantic import Field

from common.settings import Settings


class DeduplicateSettings(Settings):
    """Which repeated texts are dropped. Of equal or like texts the first in input order stays, always."""

    documents: bool = True
    """Drop documents equal to an earlier one (Unicode NFC, runs of white space as one)."""
    near: bool = False
    """Drop documents nearly equal to an earlier one that stays: the same page with another date, a quoted copy, an
    edited reprint. Off: the paper does not do it, and a corpus made for comparison with KLUE keeps what KLUE kept. On,
    it is worth its time for crawled text (web, news); it costs workers' time (see `scripts/bench_corpus.py`) and
    about 1,300 bytes of disk a document while the stage runs."""
    near_threshold: float = Field(0.8, ge=0.5, le=1)
    """Least share of common shingles (Jaccard similarity of the sets of 5 characters in a row, blanks left out; 0.5 to
    1) at which two documents are near copies. About one character in forty edited leaves 0.8."""
    paragraphs: bool = False
    """Drop paragraphs (lines of the cleaned document) equal to an earlier one anywhere in the corpus. Off: the paper
    keeps them; on, it takes out what pages of one site share."""
    min_paragraph_chars: int = Field(50, ge=1)
    """Shorter paragraphs (characters) are never dropped as duplicates: headings and short answers repeat in good
    text."""
    sentences: bool = False
    """Drop sentences equal to an earlier one anywhere in the corpus. Off: the paper keeps them, and in running text a
    short answer said twice is no noise."""
    min_sentence_chars: int = Field(20, ge=1)
    """Shorter sentences (characters) are never dropped as duplicates."""
