"""A filter: measures of a document, each a number with bounds, and the function that computes them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from data.filters.batch import Batch


class Measure(NamedTuple):
    """A number that a filter gives every document, and the bounds within which a document is kept."""

    name: str
    low: float | None = None
    high: float | None = None

    def refuses(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which values are out of bounds."""
        refused = np.zeros(len(values), bool)
        if self.low is not None:
            refused |= values < self.low
        if self.high is not None:
            refused |= values > self.high
        return refused


class Filter(Protocol):
    """A filter ready to work: it can be pickled, and what it gives depends on the documents alone."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, in the order in which they drop documents."""

    def scores(self, batch: Batch) -> NDArray[np.float64]:
        """Return the value of each measure for each document [D, measures]."""


def share(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return part / whole, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
