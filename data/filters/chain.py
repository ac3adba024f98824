"""The filters of a corpus, one after another: which documents stay, their scores, and what each filter dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from common.settings import dump_settings, settings_hash
from data.filters.base import Batch, Filter
from data.filters.settings import FilterSettings
from data.readers.records import Document
from data.statistics.counts import Counters, merge


class Filtered(NamedTuple):
    """The documents of a batch that the filters keep, and a record of each that they drop."""

    documents: list[Document]
    texts: list[str]
    scores: dict[str, NDArray[np.float32]]
    """Column → a value for each document that stays."""
    dropped: list[dict[str, Any]]
    """{"id", "source", "filter", "measure", "score"} of each document that does not."""
    counts: Counters
    """Filter → measure → source → {"documents", "characters"} dropped."""


class Step(NamedTuple):
    """A filter of a chain, and whether it drops documents or only scores them."""

    title: str
    drop: bool
    filter: Filter
    identity: str
    """Hash of all that its scores depend on."""


@dataclass(frozen=True)
class FilterChain:
    """The filters, ready to work; see `build_filters`."""

    steps: tuple[Step, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.steps)

    @property
    def identity(self) -> list[str]:
        """Return the settings of the chain by which its parts are known."""
        return [step.identity for step in self.steps]

    @property
    def schema(self) -> list[pa.Field]:
        """Return the columns of scores."""
        names = (column_of(step.title, measure.name) for step in self.steps for measure in step.filter.measures)
        return [pa.field(name, pa.float32()) for name in names]

    def apply(self, documents: list[Document], texts: list[str]) -> Filtered:
        """Return the documents that the filters leave, each judged by its own cleaned text; empty ones stay.

        Personal data in the fields of the documents must have been replaced.
        """
        batch = Batch(documents, texts)
        scores: dict[str, NDArray[np.float32]] = {}
        dropped: list[dict[str, Any]] = []
        counts: Counters = {}
        for step in self.steps:
            values = step.filter.scores(batch)
            filled = np.diff(batch.borders) > 0  # cleaning has emptied the others, and answers for them
            keep = np.ones(len(batch), bool)
            for number, measure in enumerate(step.filter.measures):
                scores[column_of(step.title, measure.name)] = values[:, number].astype(np.float32)
                if not step.drop:
                    continue
                for place in np.flatnonzero(keep & filled & measure.refuses(values[:, number])):
                    keep[place] = False
                    document = batch.documents[place]
                    size = len(batch.texts[place])
                    counted = {measure.name: {document.source: {"documents": 1, "characters": size}}}
                    merge(counts.setdefault(step.title, {}), counted)
                    facts = {"id": document.id, "source": document.source, "filter": step.title}
                    score = round(float(values[place, number]), 6)
                    dropped.append({**facts, "measure": measure.name, "score": score})
            if not keep.all():
                batch = batch.take(keep)
                scores = {name: column[keep] for name, column in scores.items()}
        return Filtered(batch.documents, batch.texts, scores, dropped, counts)


NO_FILTERS = FilterChain()


def column_of(title: str, measure: str) -> str:
    """Return the name of the column of a filter's measure."""
    return f"{title}_{measure}"


def build_filters(settings: list[FilterSettings]) -> FilterChain:
    """Return the filters of a recipe, in its order."""
    steps = []
    for entry in settings:
        chosen = getattr(entry, entry.kind)
        identity = settings_hash([entry.title, entry.kind, entry.drop, dump_settings(chosen)])
        steps.append(Step(entry.title, entry.drop, chosen, identity))
    return FilterChain(tuple(steps))
