"""The filter `perplexity`: how unlike a text is to those that a character model was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from common.files import sha256_file
from common.settings import Settings
from data.filters.batch import Batch
from data.filters.measure import Measure
from data.filters.ngram_model import NgramModel, load_ngrams

QUANTILE, TIMES = "0.999", 1.5
"""Where the recipe states no bound: so many times this quantile of the documents held out of a model's training. At the
quantile itself good texts of other registers go: verse of 1938, short questions, commands to a speaker."""


class PerplexitySettings(Settings):
    """Drop documents that a character model finds improbable: broken encodings, word salad, other languages."""

    model: str = Field(min_length=1)
    """File that `hunmin corpus train-perplexity` wrote."""
    max_perplexity: float | None = Field(None, gt=1)
    """Maximum perplexity per character. None takes the bound stored with the model: 1.5 times the perplexity that one
    in a thousand documents held out of its training exceeds."""
    min_chars: int = Field(50, ge=1)
    """Shorter documents (in characters; a run of blanks counts as one) are not filtered, because their perplexity says
    little."""

    def load(self) -> PerplexityFilter:
        """Return the filter with its model read.

        Raises:
            UserError: the model is missing or is none.
        """
        return PerplexityFilter(self, load_ngrams(Path(self.model)), sha256_file(Path(self.model)))


@dataclass(frozen=True)
class PerplexityFilter:
    """See `PerplexitySettings`. Measure: value; NaN of documents that are not judged."""

    settings: PerplexitySettings
    model: NgramModel
    fingerprint: str

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The one measure."""
        bound, own = self.settings.max_perplexity, self.model.facts["quantiles"].get(QUANTILE)
        return (Measure("value", None, TIMES * own if bound is None and own else bound),)

    def scores(self, batch: Batch) -> NDArray[np.float64]:
        """Return the perplexity of a character of each document [D, 1]."""
        return self.model.perplexities(batch.codes, batch.borders, self.settings.min_chars)[:, None]
