"""The filter `length`: texts too short or too long, by characters, and by the characters of a sentence or a word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from common.settings import Settings
from data.filters.base import Batch, Measure, share
from data.splitting.scan import split_sentences

MIN_WORD_CHARS, MAX_WORD_CHARS = 1.5, 15
"""Mean number of characters per word (eojeol) within which a document is kept; Korean prose has 2.5 to 5. Text below it
has its letters separated (안 녕 하 세 요); text above it has no spaces, or consists of addresses and codes."""


class LengthSettings(Settings):
    """Drop documents that are too short or too long, or whose sentences are. A mean of fewer than 1.5 characters a word
    (letters apart: 안 녕) or of more than 15 (no spaces; addresses, codes) drops a document, too."""

    min_chars: int = Field(10, ge=0)
    """Shortest document in characters. 10 drops documents that state nothing (좋아요, ㅋㅋㅋ) and keeps short comments;
    for web pages 200 is usual."""
    max_chars: int | None = Field(None, ge=1)
    """Longest document in characters; None keeps books whole."""
    min_sentence_chars: float | None = Field(None, gt=0)
    """Minimum mean number of characters per sentence. None saves the splitting into sentences, which takes longer than
    everything else in this filter."""
    max_sentence_chars: float | None = Field(None, gt=0)
    """Maximum mean number of characters per sentence; above it are lists and tables without full stops."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Return the measures; that of sentences only where asked for."""
        measures = (
            Measure("characters", self.min_chars, self.max_chars),
            Measure("characters_per_word", MIN_WORD_CHARS, MAX_WORD_CHARS),
            Measure("characters_per_sentence", self.min_sentence_chars, self.max_sentence_chars),
        )
        return measures if self._splits else measures[:2]

    @property
    def _splits(self) -> bool:
        return self.min_sentence_chars is not None or self.max_sentence_chars is not None

    def scores(self, batch: Batch) -> NDArray[np.float64]:
        words = batch.words
        solid = np.diff(np.concatenate(([0], np.cumsum(words.characters)))[words.borders])
        columns = [np.diff(batch.borders).astype(np.float64), share(solid, np.diff(words.borders))]
        if self._splits:
            columns.append(np.array([_mean(split_sentences(text)) for text in batch.texts], np.float64))
        return np.stack(columns, axis=1)


def _mean(sentences: list[str]) -> float:
    return sum(map(len, sentences)) / len(sentences) if sentences else 0.0
